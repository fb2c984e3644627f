/*
 * The functions of ClickHouse that compute something of their arguments and nothing else. Not
 * here: those that read files, dictionaries and other tables, use the network, tell about the
 * machine, sleep, write the log, or make formats with schema files; nor those that a few large
 * arguments keep busy for minutes, or that take memory which the engine does not count. Those are
 * in a list as well, because a name alone may be that of a column or, as in arrayMap(file, …), of a
 * function. test/store asks the engine for its functions: one that is in neither list fails the
 * test until somebody has judged it.
 *
 * A list is one text per first letter: quick enough to search, and easy to read and to change.
 */
#include "cluster-agent/sql/sql_functions.h"

#include <ctype.h>

#define MAX_NAME 63u

/* In small letters, each between two spaces. */
static const char *const functions[26] = {
	['a' - 'a'] =
		" abs accuratecast accuratecastordefault accuratecastornull acos acosh adddate "
		"adddays addhours addinterval addmicroseconds addmilliseconds addminutes "
		"addmonths addnanoseconds addquarters addseconds addtupleofintervals addweeks "
		"addyears aes_decrypt_mysql aes_encrypt_mysql age alphatokens analysisofvariance "
		"and anova any any_respect_nulls any_value any_value_respect_nulls anyheavy "
		"anylast anylast_respect_nulls anylastrespectnulls anyrespectnulls "
		"anyvaluerespectnulls appendtrailingcharifabsent approx_top_count approx_top_k "
		"approx_top_sum areacartesian areaspherical argandmax argandmin argmax argmin "
		"array array_agg array_concat_agg array_remove array_to_string arrayall arrayauc "
		"arrayaucpr arrayautocorrelation arrayavg arraycompact arrayconcat arraycount "
		"arraycumsum arraycumsumnonnegative arraydifference arraydistinct "
		"arraydotproduct arrayelement arrayelementornull arrayenumerate "
		"arrayenumeratedense arrayenumeratedenseranked arrayenumerateuniq "
		"arrayenumerateuniqranked arrayexcept arrayexists arrayfill arrayfilter "
		"arrayfirst arrayfirstindex arrayfirstornull arrayflatten "
		"arrayintersect arrayjaccardindex arrayjoin arraylast arraylastindex "
		"arraylastornull "
		"arraymap arraymax arraymin arraynormalizedgini arraypartialreversesort "
		"arraypartialshuffle arraypartialsort arraypopback arraypopfront arrayprauc "
		"arrayproduct arraypushback arraypushfront arrayrandomsample arrayreduce "
		"arrayreduceinranges arrayremove arrayresize arrayreverse arrayreversefill "
		"arrayreversesort arrayreversesplit arrayrocauc arrayrotateleft arrayrotateright "
		"arrayshiftleft arrayshiftright arrayshingles arrayshuffle "
		"arrayslice arraysort arraysplit arraystringconcat arraysum "
		"arraysymmetricdifference arraytranspose arrayunion arrayuniq arraywithconstant "
		"arrayzip arrayzipunaligned ascii asin asinh assumenotnull atan atan2 atanh "
		"authenticateduser authuser avg avg2 avgweighted ",
	['b' - 'a'] = " bar base32decode base32encode base64decode "
		      "base64encode base64urldecode base64urlencode basename bin bit_and bit_or "
		      "bit_xor bitand bitcount bithammingdistance bitmapand bitmapandcardinality "
		      "bitmapandnot bitmapandnotcardinality bitmapbuild bitmapcardinality "
		      "bitmapcontains bitmaphasall bitmaphasany bitmapmax bitmapmin bitmapor "
		      "bitmaporcardinality bitmapsubsetinrange bitmapsubsetlimit bitmaptoarray "
		      "bitmaptransform bitmapxor bitmapxorcardinality bitmasktoarray bitmasktolist "
		      "bitnot bitor bitpositionstoarray bitrotateleft bitrotateright bitshiftleft "
		      "bitshiftright bitslice bittest bittestall bittestany bitxor blocknumber "
		      "blockserializedsize blocksize boundingratio buildid bytehammingdistance "
		      "bytesize byteslice byteswap ",
	['c' - 'a'] =
		" cardinality casefoldutf8 casewithexpr casewithexpression casewithoutexpr "
		"casewithoutexpression cast categoricalinformationvalue cbrt ceil ceiling "
		"changeday changehour changeminute changemonth changesecond changeyear char "
		"char_length character_length cityhash64 clamp coalesce coloroklabtosrgb "
		"coloroklchtosrgb colorsrgbtooklab colorsrgbtooklch comparesubstrings concat "
		"concat_ws concatassumeinjective concatwithseparator "
		"concatwithseparatorassumeinjective connection_id connectionid contingency conv "
		"convertcharset corr corrmatrix corrstable cos cosh cosinedistance "
		"cosinedistancetransposed count countdigits countequal countmatches "
		"countmatchescaseinsensitive countsubstrings countsubstringscaseinsensitive "
		"countsubstringscaseinsensitiveutf8 covar_pop covar_samp covarpop covarpopmatrix "
		"covarpopstable covarsamp covarsampmatrix covarsampstable cramersv "
		"cramersvbiascorrected crc32 crc32ieee crc64 cume_dist curdate current_database "
		"current_date current_query_id current_schemas current_timestamp current_user "
		"currentdatabase currentprofiles currentqueryid currentroles currentschemas "
		"currentuser cutfragment cutipv6 cutquerystring cutquerystringandfragment "
		"cuttofirstsignificantsubdomain cuttofirstsignificantsubdomaincustom "
		"cuttofirstsignificantsubdomaincustomrfc "
		"cuttofirstsignificantsubdomaincustomwithwww "
		"cuttofirstsignificantsubdomaincustomwithwwwrfc "
		"cuttofirstsignificantsubdomainrfc cuttofirstsignificantsubdomainwithwww "
		"cuttofirstsignificantsubdomainwithwwwrfc cuturlparameter cutwww ",
	['d' - 'a'] =
		" database date date_bin date_diff date_format "
		"date_trunc datediff datename datetime64tosnowflake datetime64tosnowflakeid "
		"datetimetosnowflake datetimetosnowflakeid datetimetouuidv7 datetrunc day "
		"dayofmonth dayofweek dayofyear decodehtmlcomponent decodeurlcomponent "
		"decodeurlformcomponent decodexmlcomponent decrypt defaultprofiles defaultroles "
		"defaultvalueofargumenttype defaultvalueoftypename degrees deltasum "
		"deltasumtimestamp dense_rank denserank displayname distancecosine "
		"distancecosinetransposed distancel1 distancel2 distancel2squared "
		"distancel2transposed distancelinf distancelp distinctdynamictypes "
		"distinctjsonpaths distinctjsonpathsandtypes divide dividedecimal divideornull "
		"domain domainrfc domainwithoutwww domainwithoutwwwrfc dotproduct "
		"dumpcolumnstructure dynamicelement dynamictype ",
	['e' - 'a'] =
		" e empty emptyarraydate emptyarraydatetime "
		"emptyarrayfloat32 emptyarrayfloat64 emptyarrayint16 emptyarrayint32 "
		"emptyarrayint64 emptyarrayint8 emptyarraystring emptyarraytosingle "
		"emptyarrayuint16 emptyarrayuint32 emptyarrayuint64 emptyarrayuint8 "
		"enabledprofiles enabledroles encodeurlcomponent encodeurlformcomponent "
		"encodexmlcomponent encrypt endswith endswithcaseinsensitive "
		"endswithcaseinsensitiveutf8 endswithutf8 entropy equals erf erfc "
		"errorcodetoname estimatecompressionratio evalmlmethod exp exp10 exp2 "
		"exponentialmovingaverage exponentialtimedecayedavg exponentialtimedecayedcount "
		"exponentialtimedecayedmax exponentialtimedecayedsum extract extractall "
		"extractallgroups extractallgroupshorizontal extractallgroupsvertical "
		"extractgroups extractkeyvaluepairs extractkeyvaluepairswithescaping "
		"extracttextfromhtml extracturlparameter extracturlparameternames "
		"extracturlparameters ",
	['f' - 'a'] =
		" factorial farmfingerprint64 farmhash64 finalizeaggregation "
		"financialinternalrateofreturn financialinternalrateofreturnextended "
		"financialnetpresentvalue financialnetpresentvalueextended first_value "
		"first_value_respect_nulls firstline firstnondefault firstsignificantsubdomain "
		"firstsignificantsubdomaincustom firstsignificantsubdomaincustomrfc "
		"firstsignificantsubdomainrfc firstvaluerespectnulls flatten flattentuple "
		"flipcoordinates floor format format_bytes formatdatetime "
		"formatdatetimeinjodasyntax formatquery formatqueryornull formatquerysingleline "
		"formatquerysinglelineornull formatreadabledecimalsize formatreadablequantity "
		"formatreadablesize formatreadabletimedelta fragment from_base64 from_days "
		"from_unixtime from_utc_timestamp fromdayssinceyearzero fromdayssinceyearzero32 "
		"frommodifiedjulianday frommodifiedjuliandayornull fromunixtimestamp "
		"fromunixtimestamp64micro fromunixtimestamp64milli fromunixtimestamp64nano "
		"fromunixtimestamp64second fromunixtimestampinjodasyntax fromutctimestamp "
		"fuzzbits ",
	['g' - 'a'] =
		" gccmurmurhash gcd generaterandomstructure generatesnowflakeid generateuuidv4 "
		"generateuuidv7 geodistance geohashdecode geohashencode geohashesinbox geotoh3 "
		"getsetting getsettingordefault getsizeofenumtype getsubcolumn "
		"gettypeserializationstreams globalin globalinignoreset globalnotin "
		"globalnotinignoreset globalnotnullin globalnotnullinignoreset globalnullin "
		"globalnullinignoreset globalvariable greatcircleangle greatcircledistance "
		"greater greaterorequals greatest group_concat grouparray grouparrayinsertat "
		"grouparrayintersect grouparraylast grouparraymovingavg grouparraymovingsum "
		"grouparraysample grouparraysorted groupbitand groupbitmap groupbitmapand "
		"groupbitmapor groupbitmapxor groupbitor groupbitxor groupconcat "
		"groupnumericindexedvector groupuniqarray ",
	['h' - 'a'] =
		" h3cellaream2 h3cellarearads2 h3distance h3edgeangle h3edgelengthkm "
		"h3edgelengthm h3exactedgelengthkm h3exactedgelengthm h3exactedgelengthrads "
		"h3getbasecell h3getdestinationindexfromunidirectionaledge h3getfaces "
		"h3getindexesfromunidirectionaledge h3getoriginindexfromunidirectionaledge "
		"h3getpentagonindexes h3getres0indexes h3getresolution h3getunidirectionaledge "
		"h3getunidirectionaledgeboundary h3getunidirectionaledgesfromhexagon "
		"h3hexareakm2 h3hexaream2 h3hexring h3indexesareneighbors h3ispentagon "
		"h3isresclassiii h3isvalid h3kring h3line h3numhexagons h3pointdistkm "
		"h3pointdistm h3pointdistrads h3tocenterchild h3tochildren "
		"h3togeo h3togeoboundary h3toparent h3tostring h3unidirectionaledgeisvalid "
		"halfmd5 has hasall hasalltoken hasalltokens hasany hasanytoken hasanytokens "
		"hasphrase hassubsequence hassubsequencecaseinsensitive "
		"hassubsequencecaseinsensitiveutf8 hassubsequenceutf8 hassubstr hastoken "
		"hastokencaseinsensitive hastokencaseinsensitiveornull hastokenornull hex "
		"highlight highlightquery hilbertdecode hilbertencode histogram hivehash hmac "
		"hop hopend hopstart hostname hour hypot ",
	['i' - 'a'] =
		" icebergbucket iceberghash icebergtruncate identity if ifnotfinite ifnull ignore "
		"ilike in indexhint indexof indexofassumesorted inet6_aton inet6_ntoa inet_aton "
		"inet_ntoa inignoreset initcap initcaputf8 initial_query_id "
		"initial_query_start_time initializeaggregation initialqueryid "
		"initialquerystarttime instr intdiv intdivornull intdivorzero intervallengthsum "
		"intexp10 intexp2 inthash32 inthash64 ipv4cidrtorange ipv4numtostring "
		"ipv4numtostringclassc ipv4stringtonum ipv4stringtonumordefault "
		"ipv4stringtonumornull ipv4toipv6 ipv6cidrtorange ipv6numtostring "
		"ipv6stringtonum ipv6stringtonumordefault ipv6stringtonumornull isascii "
		"isconstant isdecimaloverflow isdistinctfrom isdynamicelementinshareddata "
		"isfinite isinfinite isipaddressinrange isipv4string isipv6string "
		"ismergetreepartcoveredby isnan isnotdistinctfrom isnotnull isnull isnullable "
		"isprime isprobableprime isvalidascii isvalidjson isvalidutf8 iszeroornull ",
	['j' - 'a'] =
		" javahash javahashutf16le json_array_length "
		"jsonallpaths jsonallpathswithtypes "
		"jsonallvalues jsonarraylength jsondynamicpaths jsondynamicpathswithtypes "
		"jsonextract jsonextractarrayraw jsonextractarrayrawcaseinsensitive "
		"jsonextractbool jsonextractboolcaseinsensitive jsonextractcaseinsensitive "
		"jsonextractfloat jsonextractfloatcaseinsensitive jsonextractint "
		"jsonextractintcaseinsensitive jsonextractkeys jsonextractkeysandvalues "
		"jsonextractkeysandvaluescaseinsensitive jsonextractkeysandvaluesraw "
		"jsonextractkeysandvaluesrawcaseinsensitive jsonextractkeyscaseinsensitive "
		"jsonextractraw jsonextractrawcaseinsensitive jsonextractstring "
		"jsonextractstringcaseinsensitive jsonextractuint jsonextractuintcaseinsensitive "
		"jsonhas jsonkey jsonlength jsonshareddatapaths "
		"jsonshareddatapathswithtypes jsontype jumpconsistenthash ",
	['k' - 'a'] = " kafkamurmurhash keccak256 kostikconsistenthash "
		      "kql_array_sort_asc kql_array_sort_desc kurtpop kurtsamp ",
	['l' - 'a'] =
		" l1distance l1norm l1normalize l2distance l2distancetransposed l2norm "
		"l2normalize l2squareddistance l2squarednorm lag laginframe "
		"largesttrianglethreebuckets last_day last_value last_value_respect_nulls "
		"lastvaluerespectnulls lcase lcm lead leadinframe least left leftpad leftpadutf8 "
		"leftutf8 length lengthutf8 less lessorequals "
		"lgamma like linfdistance linfnorm linfnormalize ln "
		"locate log log10 log1p log2 lowcardinalityindices lowcardinalitykeys lower "
		"lowerutf8 lpad lpdistance lpnorm lpnormalize ltrim lttb ",
	['m' - 'a'] =
		" macnumtostring macstringtonum macstringtooui makedate makedate32 makedatetime "
		"makedatetime64 mannwhitneyutest map map_from_arrays mapadd mapall mapapply "
		"mapconcat mapcontains mapcontainskey mapcontainskeylike mapcontainsvalue "
		"mapcontainsvaluelike mapexists mapextractkeylike mapextractvaluelike mapfilter "
		"mapfromarrays mapfromstring mapkeys mappartialreversesort mappartialsort "
		"mappopulateseries mapreversesort mapsort mapsubtract mapupdate mapvalues match "
		"matchphrase materialize max max2 maxintersections maxintersectionsposition "
		"maxmappedarrays md4 md5 meanztest median medianbfloat16 medianbfloat16weighted "
		"mediandd mediandeterministic medianexact medianexacthigh medianexactlow "
		"medianexactweighted medianexactweightedinterpolated mediangk "
		"medianinterpolatedweighted mediantdigest mediantdigestweighted mediantiming "
		"mediantimingweighted mergetreepartinfo metrohash64 mid midpoint millisecond min "
		"min2 minmappedarrays minsamplesizecontinous minsamplesizecontinuous "
		"minsamplesizeconversion minus minute mismatches mod modornull modulo "
		"modulolegacy moduloornull moduloorzero month monthname mortondecode "
		"mortonencode "
		"multiif "
		"multiply multiplydecimal multisearchallpositions "
		"multisearchallpositionscaseinsensitive "
		"multisearchallpositionsutf8 "
		"multisearchany multisearchanycaseinsensitive "
		"multisearchanyutf8 multisearchfirstindex multisearchfirstindexcaseinsensitive "
		"multisearchfirstindexutf8 "
		"multisearchfirstposition multisearchfirstpositioncaseinsensitive "
		"multisearchfirstpositionutf8 "
		"murmurhash2_32 murmurhash2_64 murmurhash3_128 murmurhash3_32 murmurhash3_64 ",
	['n' - 'a'] =
		" natural_sort_key naturalsortkey negate neighbor nested netloc ngramdistance "
		"ngramdistancecaseinsensitive ngramdistancecaseinsensitiveutf8 ngramdistanceutf8 "
		"ngramminhash ngramminhasharg ngramminhashargcaseinsensitive "
		"ngramminhashargcaseinsensitiveutf8 ngramminhashargutf8 "
		"ngramminhashcaseinsensitive ngramminhashcaseinsensitiveutf8 ngramminhashutf8 "
		"ngrams ngramsearch ngramsearchcaseinsensitive ngramsearchcaseinsensitiveutf8 "
		"ngramsearchutf8 ngramsimhash ngramsimhashcaseinsensitive "
		"ngramsimhashcaseinsensitiveutf8 ngramsimhashutf8 nonnegativederivative "
		"normalizedqueryhash normalizedqueryhashkeepnames normalizel1 normalizel2 "
		"normalizelinf normalizelp normalizequery normalizequerykeepnames "
		"normalizeutf8nfc normalizeutf8nfd normalizeutf8nfkc normalizeutf8nfkccasefold "
		"normalizeutf8nfkd norml1 norml2 norml2squared normlinf normlp not notempty "
		"notequals nothing nothingnull nothinguint64 notilike notin notinignoreset "
		"notlike notnullin notnullinignoreset now now64 nowinblock nowinblock64 "
		"nth_value ntile nullif nullin nullinignoreset numericindexedvectorallvaluesum "
		"numericindexedvectorbuild numericindexedvectorcardinality "
		"numericindexedvectorgetvalue numericindexedvectorpointwiseadd "
		"numericindexedvectorpointwisedivide numericindexedvectorpointwiseequal "
		"numericindexedvectorpointwisegreater numericindexedvectorpointwisegreaterequal "
		"numericindexedvectorpointwiseless numericindexedvectorpointwiselessequal "
		"numericindexedvectorpointwisemultiply numericindexedvectorpointwisenotequal "
		"numericindexedvectorpointwisesubtract numericindexedvectorshortdebugstring "
		"numericindexedvectortomap ",
	['o' - 'a'] = " octet_length or overlay overlayutf8 ",
	['p' - 'a'] =
		" parsedatetime parsedatetime32besteffort parsedatetime32besteffortornull "
		"parsedatetime32besteffortorzero parsedatetime64 parsedatetime64besteffort "
		"parsedatetime64besteffortornull parsedatetime64besteffortorzero "
		"parsedatetime64besteffortus parsedatetime64besteffortusornull "
		"parsedatetime64besteffortusorzero parsedatetime64injodasyntax "
		"parsedatetime64injodasyntaxornull parsedatetime64injodasyntaxorzero "
		"parsedatetime64ornull parsedatetime64orzero parsedatetimebesteffort "
		"parsedatetimebesteffortornull parsedatetimebesteffortorzero "
		"parsedatetimebesteffortus parsedatetimebesteffortusornull "
		"parsedatetimebesteffortusorzero parsedatetimeinjodasyntax "
		"parsedatetimeinjodasyntaxornull parsedatetimeinjodasyntaxorzero "
		"parsedatetimeornull parsedatetimeorzero parsereadablesize "
		"parsereadablesizeornull parsereadablesizeorzero parsetimedelta partitionid path "
		"pathfull percent_rank percentrank perimetercartesian perimeterspherical pi plus "
		"pmod pmodornull pointinellipses pointinpolygon polygonareacartesian "
		"polygonareaspherical polygonconvexhullcartesian polygonperimetercartesian "
		"polygonperimeterspherical "
		""
		""
		""
		""
		"port portrfc position "
		"positioncaseinsensitive positioncaseinsensitiveutf8 positionutf8 "
		"positive_modulo positive_modulo_or_null positivemodulo positivemoduloornull pow "
		"power proportionsztest protocol ",
	['q' - 'a'] =
		" quantile quantilebfloat16 quantilebfloat16weighted quantiledd "
		"quantiledeterministic quantileexact quantileexactexclusive quantileexacthigh "
		"quantileexactinclusive quantileexactlow quantileexactweighted "
		"quantileexactweightedinterpolated quantilegk quantileinterpolatedweighted "
		"quantileprometheushistogram quantiles quantilesbfloat16 "
		"quantilesbfloat16weighted quantilesdd quantilesdeterministic quantilesexact "
		"quantilesexactexclusive quantilesexacthigh quantilesexactinclusive "
		"quantilesexactlow quantilesexactweighted quantilesexactweightedinterpolated "
		"quantilesgk quantilesinterpolatedweighted quantilesprometheushistogram "
		"quantilestdigest quantilestdigestweighted quantilestiming "
		"quantilestimingweighted quantiletdigest quantiletdigestweighted quantiletiming "
		"quantiletimingweighted quarter query_id queryid querystring "
		"querystringandfragment ",
	['r' - 'a'] =
		" radians rand rand32 rand64 randbernoulli randbinomial randcanonical "
		"randchisquared randconstant randexponential randfisherf randlognormal "
		"randnegativebinomial randnormal randomfixedstring randomprintableascii "
		"randomstring randomstringutf8 randpoisson randstudentt randuniform range rank "
		"rankcorr readwkb readwkblinestring readwkbmultilinestring readwkbmultipolygon "
		"readwkbpoint readwkbpolygon readwkt readwktlinestring readwktmultilinestring "
		"readwktmultipolygon readwktpoint readwktpolygon readwktring regexp_extract "
		"regexp_instr regexp_matches regexp_replace regexpextract regexpinstr "
		"regexpposition regexpquotemeta reinterpret reinterpretasdate "
		"reinterpretasdatetime reinterpretasfixedstring reinterpretasfloat32 "
		"reinterpretasfloat64 reinterpretasint128 reinterpretasint16 reinterpretasint256 "
		"reinterpretasint32 reinterpretasint64 reinterpretasint8 reinterpretasstring "
		"reinterpretasuint128 reinterpretasuint16 reinterpretasuint256 "
		"reinterpretasuint32 reinterpretasuint64 reinterpretasuint8 reinterpretasuuid "
		"removeaccentsutf8 removediacriticsutf8 repeat replace replaceall replaceone "
		"replaceregexpall replaceregexpone replicate retention reverse "
		"reversebyseparator reverseutf8 revision right rightpad rightpadutf8 rightutf8 "
		"ripemd160 round roundage roundbankers rounddown roundduration roundtoexp2 "
		"row_number rownumberinallblocks rownumberinblock rpad rtrim runningaccumulate "
		"runningconcurrency runningdifference runningdifferencestartingwithfirstvalue ",
	['s' - 'a'] =
		" scalarproduct schema second sequencecount sequencematch sequencematchevents "
		"sequencenextnode seriesdecomposestl seriesoutliersdetecttukey servertimezone "
		"sha1 sha224 sha256 sha384 sha512 sha512_256 shardcount shardnum sigmoid sign "
		"simplejsonextractbool simplejsonextractfloat simplejsonextractint "
		"simplejsonextractraw simplejsonextractstring simplejsonextractuint "
		"simplejsonhas simplelinearregression sin singlevalueornull sinh siphash128 "
		"siphash128keyed siphash128reference siphash128referencekeyed siphash64 "
		"siphash64keyed skewpop skewsamp snowflakeidtodatetime snowflakeidtodatetime64 "
		"snowflaketodatetime snowflaketodatetime64 soundex space sparkbar sparsegrams "
		"sparsegramshashes sparsegramshashesutf8 sparsegramsutf8 splitbyalpha "
		"splitbychar splitbynonalpha splitbyregexp splitbystring splitbywhitespace sqid "
		"sqiddecode sqidencode sqrt st_linefromwkb st_mlinefromwkb st_mpolyfromwkb "
		"st_pointfromwkb st_polyfromwkb startswith startswithcaseinsensitive "
		"startswithcaseinsensitiveutf8 startswithutf8 std stddev stddev_pop stddev_samp "
		"stddevpop stddevpopstable stddevsamp stddevsampstable "
		"stochasticlinearregression stochasticlogisticregression str_to_date str_to_map "
		"string_agg stringbytesentropy stringbytesuniq stringjaccardindex "
		"stringjaccardindexutf8 stringtoh3 studentttest studentttestonesample subbitmap "
		"subdate substr substring substring_index substringindex substringindexutf8 "
		"substringutf8 subtractdays subtracthours subtractinterval subtractmicroseconds "
		"subtractmilliseconds subtractminutes subtractmonths subtractnanoseconds "
		"subtractquarters subtractseconds subtracttupleofintervals subtractweeks "
		"subtractyears sum sumcount sumkahan summapfiltered summapfilteredwithoverflow "
		"summappedarrays summapwithoverflow sumwithoverflow svg ",
	['t' - 'a'] =
		" tan tanh tgamma theilsu throwif time_bucket timediff timeserieschangestogrid "
		"timeseriescopytag timeseriescopytags timeseriesdeltatogrid "
		"timeseriesderivtogrid timeseriesextracttag timeseriesfromgrid "
		"timeseriesgrouparray timeseriesgrouptosamplingkey timeseriesgrouptotags "
		"timeseriesidtogroup timeseriesidtotags timeseriesidtotagsgroup "
		"timeseriesinstantdeltatogrid timeseriesinstantratetogrid timeseriesjointags "
		"timeserieslasttogrid timeserieslasttwosamples timeseriespredictlineartogrid "
		"timeseriesrange timeseriesratetogrid timeseriesremovealltagsexcept "
		"timeseriesremovetag timeseriesremovetags timeseriesreplacetag "
		"timeseriesresampletogridwithstaleness timeseriesresetstogrid "
		"timeseriesstoretags timeseriestagsgrouptotags timeseriestagstogroup "
		"timeseriesthrowduplicateseriesif timeslot timeslots timestamp timestamp_diff "
		"timestampdiff timezone timezoneof timezoneoffset to_base64 to_days to_unixtime "
		"to_utc_timestamp tobfloat16 tobfloat16ornull tobfloat16orzero tobool "
		"tocolumntypename todate todate32 todate32ordefault todate32ornull "
		"todate32orzero todateordefault todateornull todateorzero todatetime "
		"todatetime32 todatetime64 todatetime64ordefault todatetime64ornull "
		"todatetime64orzero todatetimeordefault todatetimeornull todatetimeorzero today "
		"todayofmonth todayofweek todayofyear todaysinmonth todayssinceyearzero "
		"todecimal128 todecimal128ordefault todecimal128ornull todecimal128orzero "
		"todecimal256 todecimal256ordefault todecimal256ornull todecimal256orzero "
		"todecimal32 todecimal32ordefault todecimal32ornull todecimal32orzero "
		"todecimal64 todecimal64ordefault todecimal64ornull todecimal64orzero "
		"todecimalstring tofixedstring tofloat32 tofloat32ordefault tofloat32ornull "
		"tofloat32orzero tofloat64 tofloat64ordefault tofloat64ornull tofloat64orzero "
		"tohour toint128 toint128ordefault toint128ornull toint128orzero toint16 "
		"toint16ordefault toint16ornull toint16orzero toint256 toint256ordefault "
		"toint256ornull toint256orzero toint32 toint32ordefault toint32ornull "
		"toint32orzero toint64 toint64ordefault toint64ornull toint64orzero toint8 "
		"toint8ordefault toint8ornull toint8orzero tointerval tointervalday "
		"tointervalhour tointervalmicrosecond tointervalmillisecond tointervalminute "
		"tointervalmonth tointervalnanosecond tointervalquarter tointervalsecond "
		"tointervalweek tointervalyear toipv4 toipv4ordefault toipv4ornull toipv4orzero "
		"toipv6 toipv6ordefault toipv6ornull toipv6orzero toisoweek toisoyear "
		"tojsonstring tokenizequery tokens tokensforlikepattern tolastdayofmonth "
		"tolastdayofweek tolowcardinality tomillisecond tominute tomodifiedjulianday "
		"tomodifiedjuliandayornull tomonday tomonth tomonthnumsinceepoch tonullable topk "
		"topkweighted topleveldomain topleveldomainrfc toquarter torelativedaynum "
		"torelativehournum torelativeminutenum torelativemonthnum torelativequarternum "
		"torelativesecondnum torelativeweeknum torelativeyearnum tosecond tostartofday "
		"tostartoffifteenminutes tostartoffiveminute tostartoffiveminutes tostartofhour "
		"tostartofinterval tostartofisoyear tostartofmicrosecond tostartofmillisecond "
		"tostartofminute tostartofmonth tostartofnanosecond tostartofquarter "
		"tostartofsecond tostartoftenminutes tostartofweek tostartofyear tostring "
		"tostringcuttozero totime totime64 totime64ornull totime64orzero totimeornull "
		"totimeorzero totimewithfixeddate totimezone totypename touint128 "
		"touint128ordefault touint128ornull touint128orzero touint16 touint16ordefault "
		"touint16ornull touint16orzero touint256 touint256ordefault touint256ornull "
		"touint256orzero touint32 touint32ordefault touint32ornull touint32orzero "
		"touint64 touint64ordefault touint64ornull touint64orzero touint8 "
		"touint8ordefault touint8ornull touint8orzero tounixtimestamp "
		"tounixtimestamp64micro tounixtimestamp64milli tounixtimestamp64nano "
		"tounixtimestamp64second toutctimestamp touuid touuidordefault touuidornull "
		"touuidorzero tovalidutf8 toweek toyear toyearnumsinceepoch toyearweek toyyyymm "
		"toyyyymmdd toyyyymmddhhmmss transform translate translateutf8 trim trimboth "
		"trimleft trimright trunc truncate trybase32decode "
		"trybase64decode trybase64urldecode trydecrypt tumble tumbleend tumblestart "
		"tuple tupleconcat tupledivide tupledividebynumber tupleelement "
		"tuplehammingdistance tupleintdiv tupleintdivbynumber tupleintdivorzero "
		"tupleintdivorzerobynumber tupleminus tuplemodulo tuplemodulobynumber "
		"tuplemultiply tuplemultiplybynumber tuplenames tuplenegate tupleplus "
		"tuplepositivemodulobynumber tupletonamevaluepairs ",
	['u' - 'a'] =
		" ucase unbin unhex uniq uniqcombined uniqcombined64 uniqexact uniqhll12 uniqupto "
		"unnest upper upperutf8 uptime urlhash user "
		"utc_timestamp utctimestamp uuidnumtostring uuidstringtonum uuidtonum "
		"uuidv7todatetime ",
	['v' - 'a'] =
		" validatenestedarraysizes var_pop var_samp variantelement varianttype varpop "
		"varpopstable varsamp varsampstable vectordifference vectorsum version "
		"visiblewidth visitparamextractbool visitparamextractfloat visitparamextractint "
		"visitparamextractraw visitparamextractstring visitparamextractuint "
		"visitparamhas ",
	['w' - 'a'] =
		" week welchttest width_bucket widthbucket windowfunnel windowid wkb wkt "
		"wordshingleminhash wordshingleminhasharg wordshingleminhashargcaseinsensitive "
		"wordshingleminhashargcaseinsensitiveutf8 wordshingleminhashargutf8 "
		"wordshingleminhashcaseinsensitive wordshingleminhashcaseinsensitiveutf8 "
		"wordshingleminhashutf8 wordshinglesimhash wordshinglesimhashcaseinsensitive "
		"wordshinglesimhashcaseinsensitiveutf8 wordshinglesimhashutf8 wyhash64 ",
	['x' - 'a'] = " xor xxh3 xxh3_128 xxhash32 xxhash64 ",
	['y' - 'a'] = " yandexconsistenthash year yearweek yesterday yyyymmddhhmmsstodatetime "
		      "yyyymmddhhmmsstodatetime64 yyyymmddtodate yyyymmddtodate32 ",
};

/* Sources of rows that need no right in the engine. */
static const char table_functions[] =
	" numbers numbers_mt zeros zeros_mt generate_series generateseries values view "
	"generaterandom ";

/* Names of types with parameters, and functions that only the engine's parser knows. */
static const char others[] =
	" aggregatefunction array bfloat16 bigint binary bit blob bool boolean byte bytea "
	"char character clob date date32 datetime datetime32 datetime64 dec decimal "
	"decimal128 decimal256 decimal32 decimal64 double dynamic enum enum16 enum8 fixed "
	"fixedstring float float32 float64 geometry inet4 inet6 int int1 int128 int16 int256 "
	"int32 int64 int8 integer intervalday intervalhour intervalmicrosecond "
	"intervalmillisecond intervalminute intervalmonth intervalnanosecond intervalquarter "
	"intervalsecond intervalweek intervalyear ipv4 ipv6 json linestring longblob "
	"longtext lowcardinality map mediumblob mediumint mediumtext multilinestring "
	"multipolygon national nchar nested nothing nullable numeric nvarchar object point "
	"polygon precision qbit real ring set signed simpleaggregatefunction single smallint "
	"string text time time64 timestamp tinyblob tinyint tinytext tuple uint128 uint16 "
	"uint256 uint32 uint64 uint8 unsigned uuid varbinary varchar varchar2 variant "
	"varying year "
	" all columns date_add date_sub dateadd datesub exists grouping interval some "
	"timestamp_add timestamp_sub timestampadd timestampsub try_cast ";

/* Beside these, all that the engine has; the same as in test/data/sql/. */
static const char refused_functions[] =
	" __actionname __applyfilter __bitboolmaskand __bitboolmaskor "
	"__bitswaplasttwo __bitwrapperfunc __getscalar __patchpartitionid "
	"__scalarsubqueryresult _cast addresstoline addresstolinewithinlines "
	"addresstosymbol aggthrow aiclassify aiextract aigenerate aitranslate "
	"arrayfold arraylevenshteindistance arraylevenshteindistanceweighted "
	"arraysimilarity base58decode base58encode catboostevaluate chdb "
	"dameraulevenshteindistance demangle dictget dictgetall dictgetchildren "
	"dictgetdate dictgetdateordefault dictgetdatetime "
	"dictgetdatetimeordefault dictgetdescendants dictgetfloat32 "
	"dictgetfloat32ordefault dictgetfloat64 dictgetfloat64ordefault "
	"dictgethierarchy dictgetint16 dictgetint16ordefault dictgetint32 "
	"dictgetint32ordefault dictgetint64 dictgetint64ordefault dictgetint8 "
	"dictgetint8ordefault dictgetipv4 dictgetipv4ordefault dictgetipv6 "
	"dictgetipv6ordefault dictgetkeys dictgetordefault dictgetornull "
	"dictgetstring dictgetstringordefault dictgetuint16 "
	"dictgetuint16ordefault dictgetuint32 dictgetuint32ordefault "
	"dictgetuint64 dictgetuint64ordefault dictgetuint8 dictgetuint8ordefault "
	"dictgetuuid dictgetuuidordefault dicthas dictisin editdistance "
	"editdistanceutf8 file filesystemavailable filesystemcapacity "
	"filesystemunreserved flamegraph formatrow formatrownonewline fqdn "
	"fullhostname fuzzquery generateserialid getclienthttpheader getmacro "
	"getmaxtablenamelengthfordatabase getmergetreesetting getoskernelversion "
	"getserverport getserversetting h3polygontocells hascolumnintable "
	"hasthreadfuzzer jarosimilarity jarowinklersimilarity joinget "
	"joingetornull json_exists json_query json_value jsonmergepatch "
	"kolmogorovsmirnovtest levenshteindistance levenshteindistanceutf8 "
	"logtrace multifuzzymatchallindices multifuzzymatchany "
	"multifuzzymatchanyindex multimatchallindices multimatchany "
	"multimatchanyindex multisearchallpositionscaseinsensitiveutf8 "
	"multisearchanycaseinsensitiveutf8 "
	"multisearchfirstindexcaseinsensitiveutf8 "
	"multisearchfirstpositioncaseinsensitiveutf8 naivebayesclassifier "
	"obfuscatequery obfuscatequerywithseed polygonsdistancecartesian "
	"polygonsdistancespherical polygonsequalscartesian "
	"polygonsintersectcartesian polygonsintersectioncartesian "
	"polygonsintersectionspherical polygonsintersectspherical "
	"polygonssymdifferencecartesian polygonssymdifferencespherical "
	"polygonsunioncartesian polygonsunionspherical polygonswithincartesian "
	"polygonswithinspherical prettyprintjson printf regionhierarchy regionin "
	"regiontoarea regiontocity regiontocontinent regiontocountry "
	"regiontodistrict regiontoname regiontopopulation regiontotopcontinent "
	"serveruuid showcertificate sleep sleepeachrow structuretocapnprotoschema "
	"structuretoprotobufschema tcpport tid transactionid "
	"transactionlatestsnapshot transactionoldestsnapshot trybase58decode "
	"urlhierarchy urlpathhierarchy zookeepersessionuptime ";

/* What may follow the name of an aggregate function, in small letters. */
static const char *const combinators[] = {
	"simplestate", "ordefault", "distinct", "resample", "foreach", "argmax", "argmin",
	"ornull",      "merge",     "state",    "array",    "null",    "map",    "if",
};

static bool has(const char *list, const char *name, size_t len)
{
	char word[MAX_NAME + 3] = " ";

	memcpy(word + 1, name, len);
	memcpy(word + 1 + len, " ", 2);
	return list && strstr(list, word);
}

/* name is in small letters. */
static bool is_listed(const char *name, size_t len)
{
	if (!islower((unsigned char)*name))
		return false;
	return has(functions[*name - 'a'], name, len) || has(table_functions, name, len) ||
	       has(others, name, len);
}

/* Cuts one combinator off; returns whether there was one. */
static bool cut_combinator(const char *name, size_t *len)
{
	for (size_t i = 0; i < ARRAY_SIZE(combinators); i++) {
		size_t n = strlen(combinators[i]);

		if (*len > n && memcmp(name + *len - n, combinators[i], n) == 0) {
			*len -= n;
			return true;
		}
	}
	return false;
}

/* Writes the name in small letters into ret; returns false if it cannot be one. */
static bool to_small(const char *name, size_t len, char *ret)
{
	if (len == 0 || len > MAX_NAME)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!isalnum((unsigned char)name[i]) && name[i] != '_')
			return false;
		ret[i] = (char)tolower((unsigned char)name[i]);
	}
	return true;
}

bool sql_function_is_refused(const char *name, size_t len)
{
	char small[MAX_NAME];

	return to_small(name, len, small) && has(refused_functions, small, len);
}

bool sql_function_is_allowed(const char *name, size_t len)
{
	char small[MAX_NAME];

	if (!to_small(name, len, small))
		return false;
	do {
		if (is_listed(small, len))
			return true;
	} while (cut_combinator(small, &len));
	return false;
}

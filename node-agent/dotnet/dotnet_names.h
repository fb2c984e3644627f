/*
 * Names of .NET's methods and types as a person reads them:
 *
 *   System.Collections.Generic.Dictionary<TKey,TValue>.FindValue
 *   Shop.Basket.Entry.Total           a nested type
 *   Shop.Basket.Sum<T>                a generic method
 *   Shop.Basket.Load.MoveNext         "<Load>d__3.MoveNext": what async, await and yield become
 *   Shop.Basket.Pay.lambda__0_1       "<>c.<Pay>b__0_1"
 *   Shop.Basket.Pay.Check             "<Pay>g__Check|0_0", a local function
 *
 * Generic types and methods have the names of their parameters, whatever the arguments are: code is
 * shared by many. Pure.
 */
#ifndef NODE_AGENT_DOTNET_DOTNET_NAMES_H
#define NODE_AGENT_DOTNET_DOTNET_NAMES_H

#include "common/base.h"
#include "node-agent/dotnet/dotnet_metadata.h"

#define DOTNET_NAME_BYTES 512u

/*
 * Stores the name of a MethodDef, or of a TypeDef (rows from 1 on). What is longer than cap - 1
 * bytes is cut. The name is UTF-8 without control characters. Returns 0, -ENOENT if there is no
 * such row, -EBADMSG, or an error of byte_source_read().
 */
int dotnet_method_name(const struct dotnet_metadata *md, const struct byte_source *src,
		       uint32_t method, char *to, size_t cap) MUST_CHECK;
int dotnet_type_name(const struct dotnet_metadata *md, const struct byte_source *src, uint32_t type,
		     char *to, size_t cap) MUST_CHECK;

/*
 * The same of a MemberRef: a method of another assembly, or of a generic type with arguments.
 * Parameters have no names there: "List<T>", "Dictionary<T1,T2>".
 */
int dotnet_member_name(const struct dotnet_metadata *md, const struct byte_source *src,
		       uint32_t member, char *to, size_t cap) MUST_CHECK;

/*
 * Puts a name together of what is known of it otherwise: of a method whose type has this full name
 * ("Shop.Basket", nested ones with '.' or '+'), as the compiler has mangled both. to is not method.
 */
void dotnet_readable_name(const char *type, const char *method, char *to, size_t cap);

/* The name of the assembly, or of the module if it has none: "System.Private.CoreLib". */
int dotnet_assembly_name(const struct dotnet_metadata *md, const struct byte_source *src, char *to,
			 size_t cap) MUST_CHECK;

#endif /* NODE_AGENT_DOTNET_DOTNET_NAMES_H */

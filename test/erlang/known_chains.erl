%% Computes in known chains of calls, without end: see erlang_frames.js, which knows the lines.
-module(known_chains).
-behaviour(gen_server).
-export([main/0, init/1, handle_call/3, handle_cast/2]).

main() ->
    {ok, Server} = gen_server:start_link(?MODULE, [], []),
    rounds(Server, 1000000000).

rounds(_, 0) ->
    ok;
rounds(Server, N) ->
    A = plain(N),
    B = deep(50),
    C = lists:foldl(fun(X, Sum) -> burn(X, Sum) + 1 end, 0, [5001, 5002, 5003]),
    D = lists:map(fun(X) -> [burn(X, N)] end, [5001, 5002, 5003]),
    E = gen_server:call(Server, {work, N}),
    F = caught(N),
    G = natives(lists:duplicate(4, 1.5), 200),
    H = hashed(<<0:800000>>),
    I = derived(4000),
    J = sorted([N, 5, 3, 8, 1]),
    K = spawned(N),
    L = stretched(100),
    rounds(Server, N - one([A, B, C, D, E, F, G, H, I, J, K, L])).

one(_) ->
    1.

plain(N) ->
    burn(10000, N) + 1.

%% The call is not the last thing that it does.
deep(0) ->
    burn(10000, 1) + 1;
deep(N) ->
    1 + deep(N - 1).

caught(N) ->
    try
        thrown(N)
    catch
        error:{bad, X} -> burn(10000, X) + 1
    end.

thrown(N) ->
    X = burn(10000, N),
    error({bad, X}).

%% Functions in C.
natives(_, 0) ->
    0;
natives(Work, N) ->
    Bytes = term_to_binary(Work),
    natives(binary_to_term(Bytes), N - 1).

%% One of an extension, and one that runs in another thread, as it takes long.
hashed(Bytes) ->
    byte_size(crypto:hash(sha256, Bytes)) + 1.

derived(N) ->
    byte_size(crypto:pbkdf2_hmac(sha256, <<"secret">>, <<"salt">>, N, 32)) + 1.

sorted(List) ->
    [H | _] = lists:sort(fun(X, Y) -> burn(2000, X) + X =< burn(2001, X) + Y end, List),
    H.

%% In a process of its own.
spawned(N) ->
    Self = self(),
    spawn_link(fun() -> Self ! {done, plain(N)} end),
    receive
        {done, X} -> X
    end.

%% Its stack and its heap grow, and are collected.
stretched(0) ->
    0;
stretched(N) ->
    List = lists:duplicate(50, N),
    length(List) + stretched(N - 1).

init([]) ->
    {ok, 0}.

handle_call({work, N}, _, State) ->
    {reply, plain(N), State}.

handle_cast(_, State) ->
    {noreply, State}.

burn(0, A) ->
    A rem 1000;
burn(N, A) ->
    burn(N - 1, (A * 7 + N) rem 1000003).

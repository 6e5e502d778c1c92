#!/usr/bin/env escript
%% Supervises agents through `parley pipe`: says which of them are alive and which are lost, shows
%% their errors, and rejects each evolution that an agent intends.
%%   supervisor.escript AGENT…      (PARLEY_URL: the server, PARLEY_TOKEN: a token, if it asks for one)
main(Agents) ->
    io:setopts([{encoding, unicode}]),
    [spawn_link(fun() -> supervise(Agent, "now") end) || Agent <- Agents],
    receive never -> ok end.

supervise(Agent, Since) ->
    Url = os:getenv("PARLEY_URL", "http://localhost:8080"),
    Args = ["pipe", "--agent", Agent, "--from", "elixir", "--since", Since, Url],
    Port = open_port({spawn_executable, os:find_executable("parley")},
                     [{args, Args}, binary, exit_status, {packet, 4}]),
    watch(Agent, Port, unknown).

%% An agent beats once a second. A pipe that ends (the reason is on standard error) is opened again,
%% and begins with the last minute: what it says may then come twice.
watch(Agent, Port, State) ->
    receive
        {Port, {data, Frame}} ->
            {Message, <<>>} = unpack(Frame),
            handle(Agent, Port, Message),
            watch(Agent, Port, say(Agent, State, "alive"));
        {Port, {exit_status, _}} ->
            timer:sleep(1000),
            supervise(Agent, "1m")
    after 5000 -> watch(Agent, Port, say(Agent, State, "lost"))
    end.

handle(Agent, Port, #{<<"type">> := <<"evolution_intent">>}) ->
    Result = #{type => <<"evolution_result">>, timestamp => os:system_time(second), success => false,
               decision => <<"rejected">>, reason => <<"nothing may change here">>},
    port_command(Port, pack(Result)),
    io:format("~s: evolution rejected~n", [Agent]);
handle(Agent, _, #{<<"type">> := <<"error">>, <<"error">> := #{<<"message">> := Why}}) ->
    io:format("~s: error: ~ts~n", [Agent, Why]);
handle(_, _, _) -> ok.

say(_, State, State) -> State;
say(Agent, _, State) -> io:format("~s: ~s~n", [Agent, State]), State.

%% As much of MessagePack as messages need.
pack(Map) when is_map(Map) -> pack_map(maps:to_list(Map));
pack(Bool) when is_boolean(Bool) -> <<(if Bool -> 16#C3; true -> 16#C2 end)>>;
pack(Name) when is_atom(Name) -> pack(atom_to_binary(Name, utf8));
pack(Text) when is_binary(Text) -> <<16#DB, (byte_size(Text)):32, Text/binary>>;
pack(Number) when is_integer(Number) -> <<16#D3, Number:64>>.
pack_map(Pairs) -> <<16#DF, (length(Pairs)):32, << <<(pack(K))/binary, (pack(V))/binary>> || {K, V} <- Pairs >>/binary>>.

unpack(<<8:4, N:4, R/binary>>) -> map(items(2 * N, R, []));
unpack(<<9:4, N:4, R/binary>>) -> items(N, R, []);
unpack(<<5:3, N:5, Text:N/binary, R/binary>>) -> {Text, R};
unpack(<<0:1, N:7, R/binary>>) -> {N, R};
unpack(<<7:3, N:5, R/binary>>) -> {N - 32, R};
unpack(<<16#C0, R/binary>>) -> {null, R};
unpack(<<16#C2, R/binary>>) -> {false, R};
unpack(<<16#C3, R/binary>>) -> {true, R};
unpack(<<C, R/binary>>) when C < 16#CC -> S = 32 bsl (C - 16#CA), <<N:S/float, Q/binary>> = R, {N, Q};
unpack(<<C, R/binary>>) when C < 16#D0 -> S = 8 bsl (C - 16#CC), <<N:S, Q/binary>> = R, {N, Q};
unpack(<<C, R/binary>>) when C < 16#D4 -> S = 8 bsl (C - 16#D0), <<N:S/signed, Q/binary>> = R, {N, Q};
unpack(<<C, R/binary>>) when C < 16#DC -> S = 8 bsl (C - 16#D9), <<N:S, Text:N/binary, Q/binary>> = R, {Text, Q};
unpack(<<C, R/binary>>) when C < 16#DE -> S = 16 bsl (C - 16#DC), <<N:S, Q/binary>> = R, items(N, Q, []);
unpack(<<C, R/binary>>) -> S = 16 bsl (C - 16#DE), <<N:S, Q/binary>> = R, map(items(2 * N, Q, [])).

items(0, R, Items) -> {lists:reverse(Items), R};
items(N, R, Items) -> {Item, Q} = unpack(R), items(N - 1, Q, [Item | Items]).
map({Items, R}) -> {map(Items, #{}), R}.
map([], Map) -> Map;
map([Key, Value | Items], Map) -> map(Items, Map#{Key => Value}).

#!/usr/bin/env escript
%% Two ports as an Erlang node opens them, one of each side: each sends the frames of a file, and
%% what comes from the other side is written to a file, with its lengths.
%%   exchange.escript PARLEY URL AGENT FOLDER      (gerbil.frames, elixir.frames → *.read)
main([Parley, Url, Agent, Folder]) ->
    Sides = ["gerbil", "elixir"],
    Ports = [{Side, open(Parley, Url, Agent, Side)} || Side <- Sides],
    [Gerbil, Elixir] = [frames(filename:join(Folder, Side ++ ".frames")) || Side <- Sides],
    %% Both streams are open once each has got what the other sent first.
    [GerbilPort, ElixirPort] = [Port || {_, Port} <- Ports],
    [port_command(GerbilPort, Frame) || Frame <- Gerbil],
    [port_command(ElixirPort, Frame) || Frame <- Elixir],
    ToElixir = read(ElixirPort, length(Gerbil)),
    ToGerbil = read(GerbilPort, length(Elixir)),
    write(Folder, "elixir", ToElixir),
    write(Folder, "gerbil", ToGerbil),
    port_command(GerbilPort, <<16#80>>), % an empty map
    write(Folder, "error", read(GerbilPort, 1)),
    Pids = [element(2, erlang:port_info(Port, os_pid)) || {_, Port} <- Ports],
    [port_close(Port) || {_, Port} <- Ports],
    [io:format("~b~n", [Pid]) || Pid <- Pids].

open(Parley, Url, Agent, Side) ->
    Args = ["pipe", "--agent", Agent, "--from", Side, "--since", "all", Url],
    open_port({spawn_executable, Parley}, [{args, Args}, binary, exit_status, {packet, 4}]).

read(_, 0) -> [];
read(Port, Count) ->
    receive
        {Port, {data, Frame}} -> [Frame | read(Port, Count - 1)];
        {Port, {exit_status, Status}} -> io:format("ended with ~b~n", [Status]), halt(1)
    after 100000 -> io:format("~b frames are missing~n", [Count]), halt(1)
    end.

frames(File) -> {ok, Bytes} = file:read_file(File), split(Bytes).
split(<<>>) -> [];
split(<<Length:32, Frame:Length/binary, Rest/binary>>) -> [Frame | split(Rest)].

write(Folder, Name, Frames) ->
    Bytes = [<<(byte_size(Frame)):32, Frame/binary>> || Frame <- Frames],
    ok = file:write_file(filename:join(Folder, Name ++ ".read"), Bytes).

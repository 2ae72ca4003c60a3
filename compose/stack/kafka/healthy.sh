#!/usr/bin/env bash
# Clients can connect, and the JVM answers: a broker that is stopped or stuck keeps its ports open, but says nothing.
# By bash alone, as images have neither curl nor nc in common.
exec 3<>/dev/tcp/127.0.0.1/9092 || exit 1
exec 4<>/dev/tcp/127.0.0.1/9404 || exit 1
printf 'GET /-/healthy HTTP/1.0\r\n\r\n' >&4
read -r -t 3 answer <&4 && [[ $answer == *" 200 "* ]]

bypass timeliness --publisher-on 292.1 --publisher-off 78.7 --subscriber-on 155.8 --subscriber-off 72.1 --lifetime 60
bypass timeliness examples/metro.yaml

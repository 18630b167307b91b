// placeholder removed by launch/flags

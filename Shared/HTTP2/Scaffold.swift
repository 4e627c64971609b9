enum HTTP2Scaffold {}

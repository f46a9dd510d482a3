import type { AddressInfo } from 'node:net'
import { openListSink } from './list-sink.ts'

// Run by vendor-sinks.ts: sends its port, then on each message its counts since the previous one.
const { server, takeCounts } = openListSink()
server.listen(0, '127.0.0.1', () => process.send!({ port: (server.address() as AddressInfo).port }))
process.on('message', () => process.send!(takeCounts()))
process.on('disconnect', () => process.exit(0))

import type { AddressInfo } from 'node:net'
import { openListSink } from './list-sink.ts'

/** The sink as a process of its own, started with fork: tells its port, and on each message its counts since the last one. */
const { server, takeCounts } = openListSink()
server.listen(0, '127.0.0.1', () => process.send!({ port: (server.address() as AddressInfo).port }))
process.on('message', () => process.send!(takeCounts()))
process.on('disconnect', () => process.exit(0))

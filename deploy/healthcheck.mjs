// Container health check: exits with 0 if the program is ready, otherwise with 1 and the reason on stderr. It runs every ten seconds in
// each container, so it does without fetch and node:http: loading them would double its CPU time.
import { connect } from 'node:net'
import { env } from 'node:process'

const LIMIT_MS = 8_000

let reply = ''
const socket = connect(Number(env.HERALD_METRICS_PORT || 7110), '127.0.0.1', () =>
  socket.write('GET /readyz HTTP/1.0\r\n\r\n'),
)
socket
  .setEncoding('utf8')
  .setTimeout(LIMIT_MS, () => socket.destroy(new Error(`no answer within ${LIMIT_MS / 1000} seconds`)))
  .on('data', (text) => {
    reply += text
  })
  .on('end', () => {
    if (!/^HTTP\/1\.\d 200 /.test(reply)) fail(reply.split('\r\n\r\n')[1] || 'the reply has no body')
  })
  .on('error', (error) => fail(`/readyz does not respond: ${error.message}`))

function fail(reason) {
  process.stderr.write(`${reason}\n`)
  process.exitCode = 1
}

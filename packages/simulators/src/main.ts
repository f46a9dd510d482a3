import { existsSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cards } from '@herald/channels/cards'
import { loadDemo } from './demo.ts'

const known = readdirSync(import.meta.dirname).filter((name) =>
  existsSync(join(import.meta.dirname, name, 'demo.ts')),
)
const wanted = process.argv.slice(2)
const unknown = wanted.filter((name) => !known.includes(name))
if (unknown.length > 0) {
  process.stderr.write(`There is no simulator for ${unknown.join(', ')}. Simulators: ${known.join(', ')}.\n`)
  process.exit(1)
}

const folder = mkdtempSync(join(tmpdir(), 'herald-simulators-'))
const started = await Promise.all(
  (wanted.length > 0 ? wanted : known).map(async (name) => {
    const demo = await loadDemo(name)
    const credentials = await demo.makeCredentials()
    const certificate = demo.certificate(credentials)
    return { name, certificate, token: demo.token(Buffer.alloc(32, 7)), ...(await demo.start(credentials)) }
  }),
)

const authorities = started.flatMap(({ simulators }) => simulators.flatMap(({ ca }) => ca ?? []))
writeFileSync(join(folder, 'ca.pem'), authorities.join('\n'))
for (const { name, certificate } of started) {
  const { provider } = cards.find((card) => card.name === name)!
  const { appId: app_id, appKey: app_key, appSecret: app_secret, ...rest } = certificate
  const record = { provider, environment: 1, name: `Simulated ${name}`, app_id, app_key, app_secret, ...rest }
  writeFileSync(join(folder, `${name}.json`), JSON.stringify(record, null, 2))
}

const settings: Record<string, string> = Object.fromEntries(
  cards.flatMap(({ addresses }) => Object.entries(addresses).map(([name, { setting }]) => [name, setting])),
)
const lines = started.flatMap(({ urls }) =>
  Object.entries(urls).map(([name, url]) => `${settings[name]}=${url}`),
)
process.stdout.write(`# Settings that point Herald at the simulators:
${lines.join('\n')}
HERALD_VENDOR_CA=${join(folder, 'ca.pem')}

# Certificate records to save with PUT /admin/push/certificate:
${started.map(({ name }) => join(folder, `${name}.json`)).join('\n')}

# A token in each vendor's format:
${started.map(({ name, token }) => `${name} ${token}`).join('\n')}

# Read the messages that a simulator accepted, and inject faults (throttle, unavailable, hang, cut: share of requests; refuseAuth: true):
curl -k ${started[0]!.simulators[0].url}/_sim/ledger
curl -k ${started[0]!.simulators[0].url}/_sim/faults -d '{"unavailable":0.5}'

Press Ctrl-C to stop.
`)

const close = () =>
  Promise.all(started.flatMap(({ simulators }) => simulators.map((simulator) => simulator.close()))).then(
    () => process.exit(0),
  )
process.once('SIGINT', close)
process.once('SIGTERM', close)

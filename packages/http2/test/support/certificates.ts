import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const fixtures = new URL('../fixtures/', import.meta.url)

export const pathOf = (name: string): string => fileURLToPath(new URL(name, fixtures))
const read = (name: string): Buffer => readFileSync(pathOf(name))

/** A small authority, a server for localhost and a client, made for these tests and good for nothing else. */
export const ca = read('ca.pem')
export const server = { key: read('server.key'), cert: read('server.pem') }
export const client = { key: read('client.key'), cert: read('client.pem') }
export const clientPfx = { pfx: read('client.p12'), passphrase: 'secret' }

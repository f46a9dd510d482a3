import { randomBytes } from 'node:crypto'
import pg from 'pg'

/** Copies a database on its server, without the WAL of the copy, and drops the copy afterwards. */
export async function inCopy<T>(template: string, work: (url: string) => Promise<T>): Promise<T> {
  const name = `copy_${randomBytes(6).toString('hex')}`
  const urlOf = (database: string) => Object.assign(new URL(template), { pathname: `/${database}` }).href
  const admin = new pg.Client(urlOf('postgres'))
  await admin.connect()
  try {
    await admin.query(
      `CREATE DATABASE ${name} TEMPLATE ${new URL(template).pathname.slice(1)} STRATEGY file_copy`,
    )
    try {
      return await work(urlOf(name))
    } finally {
      await admin.query(`DROP DATABASE ${name} WITH (FORCE)`)
    }
  } finally {
    await admin.end()
  }
}

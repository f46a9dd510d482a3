import { describe, expect, it } from '@jest/globals'
import { addTags, removeTags, setAlias, tagsOf } from '../src/devices/index.ts'
import type { FoundDevice } from '../src/devices/push-tokens.ts'
import { type Database, openDatabase } from '../src/store/database.ts'
import {
  CommitInDoubt,
  isConnectionLost,
  isDataError,
  isInDoubt,
  isTransient,
  isUnreachable,
} from '../src/store/errors.ts'
import { inTransaction, inUncheckedTransaction, type Runner } from '../src/store/statement.ts'
import {
  changeApplicationSettings,
  checkApplicationSecret,
  createApplication,
  findApplication,
  renewApplicationSecret,
  revokeAdminTokens,
} from '../src/tenants/index.ts'
import { addApplication, useDatabase } from './setup.ts'

const db = useDatabase()
const by = { actor: 'operator' }
const lost = () => new Error('Connection terminated unexpectedly')
const caught = (error: unknown) => error

/** Calls `work` with a database that does not reply to the first COMMIT, which it carries out or not. */
async function losingCommit<T>(work: (db: Database) => Promise<T>, isCommitted = true): Promise<T> {
  const losing = openDatabase(db.url, { max: 2, waitMs: 60_000 })
  let isNext = true
  losing.pool.on('connect', (client) => {
    const query = client.query.bind(client) as (...parts: unknown[]) => Promise<unknown>
    const answer = (...parts: unknown[]) => {
      const [statement] = parts
      const text = typeof statement === 'string' ? statement : (statement as { text?: string }).text
      if (text !== 'COMMIT' || !isNext) return query(...parts)
      isNext = false
      return query(isCommitted ? 'COMMIT' : 'ROLLBACK').then(() => {
        throw lost()
      })
    }
    Object.assign(client, { query: answer })
  })
  try {
    return await work(losing)
  } finally {
    await losing.close()
  }
}

describe('a transaction whose COMMIT gets no reply', () => {
  const tokenVersion = async (appId: string) => (await findApplication(db, appId))!.tokenVersion
  const raise = (appId: string) => (runner: Runner) =>
    runner.query('UPDATE application SET token_version = token_version + 1 WHERE id = $1', [appId])

  it('is in doubt, and its error is classified as its cause', async () => {
    const appId = await addApplication(db)
    const error = await losingCommit((losing) => inTransaction(losing, raise(appId)).catch(caught))
    expect(error).toBeInstanceOf(CommitInDoubt)
    expect(error).toMatchObject({ cause: { message: lost().message } })
    const kinds = [isInDoubt, isUnreachable, isTransient, isConnectionLost, isDataError]
    expect(kinds.map((is) => is(error))).toEqual([true, true, true, true, false])
    expect(await tokenVersion(appId)).toBe(1)
  })

  it('throws the error as it is if an earlier statement failed, or if it is unchecked', async () => {
    const errors = await losingCommit(async (losing) => [
      await inTransaction(losing, () => Promise.reject(lost())).catch(caught),
      await inUncheckedTransaction(losing, (runner) => runner.query('SELECT 1')).catch(caught),
    ])
    expect(errors).toEqual([lost(), lost()])
    expect(errors.some((error) => error instanceof CommitInDoubt)).toBe(false)
  })

  it('is in doubt with Prisma, too', async () => {
    const appId = await addApplication(db)
    await losingCommit((losing) =>
      expect(revokeAdminTokens(losing, appId, by)).rejects.toBeInstanceOf(CommitInDoubt),
    )
    expect(await tokenVersion(appId)).toBe(1)
    const change = { register: true }
    await losingCommit((losing) =>
      expect(changeApplicationSettings(losing, appId, change)).rejects.toBeInstanceOf(CommitInDoubt),
    )
  })
})

describe.each([
  ['was carried out', true],
  ['was not carried out', false],
])('if a COMMIT without a reply %s', (_, isCommitted) => {
  const entriesOf = async (appId: string) =>
    (await db.pool.query('SELECT action FROM audit WHERE app_id = $1', [appId])).rows.map((row) => row.action)

  it('the new secret of an application is stored once, and the one before stays good', async () => {
    const created = await createApplication(db, { name: `renewed: ${isCommitted}`, packageName: '' })
    if (created === 'taken') throw new Error('taken')
    const { appId, appSecret } = created
    const renewed = await losingCommit(
      (losing) => renewApplicationSecret(losing, appId, 3600, by),
      isCommitted,
    )
    expect(await checkApplicationSecret(db, appId, renewed!)).toEqual({ tokenVersion: 1 })
    const old = { tokenVersion: 1, until: expect.any(Number) }
    expect(await checkApplicationSecret(db, appId, appSecret)).toEqual(old)
    expect(await entriesOf(appId)).toEqual(['application.secret'])
  })

  it('a new application is created once, and its secret is returned', async () => {
    const application = { name: `created: ${isCommitted}`, packageName: '' }
    const created = await losingCommit((losing) => createApplication(losing, application, by), isCommitted)
    if (created === 'taken') throw new Error('taken')
    expect(await checkApplicationSecret(db, created.appId, created.appSecret)).toEqual({ tokenVersion: 0 })
    expect(await entriesOf(created.appId)).toEqual(['application.create'])
    expect(await createApplication(db, { ...application, ...created })).toBe('taken')
  })
})

describe('a statement that is carried out and gets no reply', () => {
  /** The reply to the first statement of the pool that `pattern` matches is lost. */
  function losingReply(pattern: RegExp): { losing: Database; isLost(): boolean } {
    let isLost = false
    const pool = new Proxy(db.pool, {
      get(target, name) {
        if (name !== 'query') return Reflect.get(target, name, target)
        return async (text: string, values: unknown[]) => {
          const result = await target.query(text, values)
          if (isLost || !pattern.test(text)) return result
          isLost = true
          throw lost()
        }
      },
    })
    return { losing: { ...db, pool }, isLost: () => isLost }
  }

  it('is repeated if it sets an alias or removes tags', async () => {
    const appId = await addApplication(db)
    const made = await db.pool.query<FoundDevice>(
      `INSERT INTO device (app_id, guid, push_token) VALUES ($1, 'g', 'lost') RETURNING id AS "deviceId", token_generation AS "tokenGeneration"`,
      [appId],
    )
    const device = made.rows[0]!
    expect(await addTags(db, appId, device, ['a', 'b'])).toBe('added')
    const alias = losingReply(/SET alias/)
    expect(await setAlias(alias.losing, appId, device, 'ann')).toBe(true)
    const tags = losingReply(/DELETE FROM device_tag/)
    expect(await removeTags(tags.losing, appId, device, ['a'])).toBe(true)
    expect([alias.isLost(), tags.isLost()]).toEqual([true, true])
    expect(await tagsOf(db, appId, device.deviceId)).toEqual(['b'])
    const { rows } = await db.pool.query('SELECT alias FROM device WHERE id = $1', [device.deviceId])
    expect(rows).toEqual([{ alias: 'ann' }])
  })
})

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Database } from '../store/database.ts'
import { codeOf } from '../store/errors.ts'

export type Application = {
  appId: string
  name: string
  packageName: string
  /** Part of every admin token; raising it revokes them all. */
  tokenVersion: number
  createdAt: Date
}

export type NewApplication = { name: string; packageName: string; appId?: string; appSecret?: string }

/** The secret is returned only here; its hash is stored. */
export async function createApplication(
  db: Database,
  application: NewApplication,
): Promise<{ appId: string; appSecret: string } | 'taken'> {
  const appId = application.appId ?? randomBytes(8).toString('hex')
  const appSecret = application.appSecret ?? newSecret()
  try {
    await db.prisma.application.create({
      data: {
        id: appId,
        name: application.name,
        packageName: application.packageName,
        secretHash: hashOf(appSecret),
      },
    })
    return { appId, appSecret }
  } catch (error) {
    if (codeOf(error) === '23505') return 'taken'
    throw error
  }
}

export async function listApplications(db: Database): Promise<Application[]> {
  const rows = await db.prisma.application.findMany({
    omit: { secretHash: true },
    orderBy: { createdAt: 'asc' },
  })
  return rows.map(({ id, ...row }) => ({ appId: id, ...row }))
}

export async function findApplication(db: Database, appId: string): Promise<Application | undefined> {
  const row = await db.prisma.application.findUnique({ where: { id: appId }, omit: { secretHash: true } })
  if (!row) return undefined
  const { id, ...rest } = row
  return { appId: id, ...rest }
}

export async function isApplicationSecret(db: Database, appId: string, secret: string): Promise<boolean> {
  const row = await db.prisma.application.findUnique({ where: { id: appId }, select: { secretHash: true } })
  return row !== null && timingSafeEqual(row.secretHash, hashOf(secret))
}

/** Revokes the old secret, its admin tokens and console sessions. Returns undefined if the application does not exist. */
export async function renewApplicationSecret(db: Database, appId: string): Promise<string | undefined> {
  const appSecret = newSecret()
  const { count } = await db.prisma.application.updateMany({
    where: { id: appId },
    data: { secretHash: hashOf(appSecret), tokenVersion: { increment: 1 } },
  })
  return count === 1 ? appSecret : undefined
}

/** Revokes all admin tokens of the application. */
export async function revokeAdminTokens(db: Database, appId: string): Promise<void> {
  await db.prisma.application.update({ where: { id: appId }, data: { tokenVersion: { increment: 1 } } })
}

/** 256 random bits cannot be guessed from a dictionary, so a fast hash is enough. */
function newSecret(): string {
  return randomBytes(32).toString('base64url')
}

function hashOf(secret: string): Buffer<ArrayBuffer> {
  return createHash('sha256').update(secret).digest() as Buffer<ArrayBuffer>
}

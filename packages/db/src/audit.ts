import type { Database } from './database.ts'

/** Who changed what. `detail` names things by id and never holds a secret. */
export type AuditEntry = {
  appId?: string
  actor: string
  action: string
  detail?: Record<string, string | number | boolean | null>
}

export async function recordAudit(db: Database, entry: AuditEntry): Promise<void> {
  await db.prisma.audit.create({
    data: { appId: entry.appId, actor: entry.actor, action: entry.action, detail: entry.detail ?? {} },
  })
}

export type AuditRecord = Required<Omit<AuditEntry, 'appId'>> & { id: number; at: Date; appId: string | null }

/** Newest first. */
export async function listAudit(
  db: Database,
  appId: string,
  page: { before?: number; limit: number },
): Promise<AuditRecord[]> {
  const rows = await db.prisma.audit.findMany({
    where: { appId, id: page.before === undefined ? undefined : { lt: page.before } },
    orderBy: { id: 'desc' },
    take: page.limit,
  })
  return rows.map((row) => ({
    ...row,
    id: Number(row.id),
    detail: row.detail as AuditRecord['detail'],
  }))
}

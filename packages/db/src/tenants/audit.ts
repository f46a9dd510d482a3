import type { Database } from '../store/database.ts'

/** Who changed what. `detail` has ids and never a secret. */
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

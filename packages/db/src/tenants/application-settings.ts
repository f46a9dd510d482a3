import type { Database } from '../store/database.ts'

export type ApplicationSettings = {
  /** Whether devices may register without a user. */
  register: boolean
  /** Maximum number of such registrations per day (UTC). */
  registerPerDay: number
}

const defaults: ApplicationSettings = { register: false, registerPerDay: 10_000 }

const select = { register: true, registerPerDay: true } as const

export async function applicationSettings(db: Database, appId: string): Promise<ApplicationSettings> {
  const row = await db.prisma.applicationSetting.findUnique({ where: { appId }, select })
  return row ?? defaults
}

/** Sets them unless an admin has changed any. */
export async function presetApplicationSettings(
  db: Database,
  appId: string,
  settings: Partial<ApplicationSettings>,
): Promise<void> {
  await db.prisma.applicationSetting.createMany({ data: { appId, ...settings }, skipDuplicates: true })
}

/** Settings that are absent stay as they are. */
export async function changeApplicationSettings(
  db: Database,
  appId: string,
  change: Partial<ApplicationSettings>,
): Promise<ApplicationSettings> {
  return db.prisma.applicationSetting.upsert({
    where: { appId },
    create: { appId, ...defaults, ...change },
    update: change,
    select,
  })
}

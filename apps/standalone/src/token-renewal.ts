import type { Logger } from '@herald/telemetry'

export type RenewalDeps = {
  findApplication(): Promise<{ tokenVersion: number } | undefined>
  /** Writes a new token of this version to demo.json. */
  write(tokenVersion: number): void
  log: Pick<Logger, 'warn'>
}

/** Never rejects: nobody awaits it, so a full disk or an unreachable database would end the whole process. */
export async function renewToken({ findApplication, write, log }: RenewalDeps): Promise<void> {
  try {
    const application = await findApplication()
    if (application) write(application.tokenVersion)
  } catch (error) {
    log.warn({ err: error }, 'the token in demo.json could not be renewed')
  }
}

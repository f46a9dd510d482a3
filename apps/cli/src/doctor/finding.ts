export type State = 'ok' | 'warn' | 'fail'

/** One line of the doctor's report. */
export type Finding = {
  area:
    | 'settings'
    | 'herald'
    | 'postgres'
    | 'clock'
    | 'migrations'
    | 'queue'
    | 'keys'
    | 'certificates'
    | 'vendors'
    | 'machine'
    | 'balance'
  state: State
  what: string
  /** What to do about it. */
  advice?: string
}

export const worst = (findings: readonly Finding[]): State =>
  findings.some(({ state }) => state === 'fail')
    ? 'fail'
    : findings.some(({ state }) => state === 'warn')
      ? 'warn'
      : 'ok'

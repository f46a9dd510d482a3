import { inspectOwnSettings } from '@herald/settings'
import type { Command } from 'commander'
import { type Finding, type State, worst } from '../doctor/finding.ts'
import { examples } from '../examples.ts'
import { SilentFailure } from '../failure.ts'
import { plural } from '../format.ts'
import { openIo } from '../io.ts'
import { type GlobalFlags, locate } from '../shell.ts'

const colours = { ok: 'green', warn: 'yellow', fail: 'red' } as const

export function addDoctorCommand(program: Command): void {
  program
    .command('doctor')
    .description(
      'Check settings, Postgres, queue, migrations, keys, certificates, vendors, clock and counters; changes nothing',
    )
    .option('--no-vendors', 'skip vendor checks (no outbound network)')
    .addHelpText(
      'after',
      `
Run it with the environment of the programs. Exit code 1 if a check fails.
${examples('doctor', 'doctor --no-vendors --json')}`,
    )
    .action(async (flags: GlobalFlags & { vendors: boolean }, command: Command) => {
      // Here a wrong setting is a finding; other commands stop at it.
      const inspection = inspectOwnSettings()
      const globals = command.optsWithGlobals<GlobalFlags>()
      const io = openIo(Boolean(globals.json))
      const { dataDir, demo, access } = locate(globals, inspection.settings)
      const findings: Finding[] = []
      const { examine } = await import('../doctor/examine.ts')
      await examine(
        { inspection, dataDir, demo, baseUrl: access.baseUrl, vendors: flags.vendors },
        (finding) => {
          findings.push(finding)
          const { area, state, what, advice } = finding
          io.say(`${area.padEnd(13)}${io.paint(colours[state], state.padEnd(6))}${what}`)
          if (advice !== undefined) io.say(`${' '.repeat(19)}→ ${advice}`)
        },
      )
      io.record({ ok: worst(findings) !== 'fail', findings })
      io.say(`\n${summaryOf(findings)}`)
      if (worst(findings) === 'fail') throw new SilentFailure()
    })
}

function summaryOf(findings: Finding[]): string {
  const number = (state: State) => findings.filter((finding) => finding.state === state).length
  const [warn, fail] = [number('warn'), number('fail')]
  if (fail === 0 && warn === 0) return 'All checks passed.'
  return `${plural(fail, 'failure')}, ${plural(warn, 'warning')}.`
}

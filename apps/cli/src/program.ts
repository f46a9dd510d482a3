import { Command } from 'commander'
import { addAppCommands } from './commands/app.ts'
import { addBalanceCommand } from './commands/balance.ts'
import { addCertificateCommands } from './commands/certificate.ts'
import { addDeviceCommands } from './commands/device.ts'
import { addDoctorCommand } from './commands/doctor.ts'
import { addNotifyCommands } from './commands/notify.ts'
import { addTaskCommands } from './commands/task.ts'
import { addUserCommands } from './commands/user.ts'
import { examples, HERALD } from './examples.ts'

/** What commander says of a wrong call, in the form of our own sentences: one line, a capital and a full stop. */
function asSentence(text: string): string {
  const words = text
    .trim()
    .replace(/^error: /, '')
    .replaceAll(/\s+/g, ' ')
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}${/[.)]$/.test(words) ? '' : '.'}`
}

/** The whole command line. Every command is a few lines: flags in, one call, words or JSON out. */
export function createProgram(): Command {
  const program = new Command(HERALD)
  program
    .description('Runs Herald from a terminal: applications, certificates, devices, pushes, and a doctor.')
    .option('--url <address>', 'where Herald answers (HERALD_URL)')
    .option('--app <app_id>', 'the application to speak for (HERALD_APP_ID)')
    .option('--secret <app_secret>', 'its secret (HERALD_APP_SECRET)')
    .option('--operator-key <key>', 'the operator’s key (HERALD_OPERATOR_KEY)')
    .option('--data-dir <folder>', 'data directory of a standalone on this machine (HERALD_DATA_DIR)')
    .option('--json', 'one JSON object, or one a line, and nothing else on stdout')
    .addHelpText(
      'after',
      `
Without flags and settings the demo of the standalone that runs on this machine is used: run npm start first.
Exit codes: 0 done, 1 failed, 2 called wrongly.
${examples('notify --all --title Hello --wait', 'device import devices.ndjson', 'task list', 'doctor')}
  $ npm run -s herald -- task list --json   (-s: without npm's own lines)`,
    )
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({ outputError: (text, write) => write(`${asSentence(text)}\n`) })
    .exitOverride()
  addAppCommands(program)
  addUserCommands(program)
  addCertificateCommands(program)
  addDeviceCommands(program)
  addNotifyCommands(program)
  addTaskCommands(program)
  addDoctorCommand(program)
  addBalanceCommand(program)
  return program
}

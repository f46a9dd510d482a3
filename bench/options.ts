import { parseArgs } from 'node:util'

/** What each part measures, in the order in which they run. */
export const parts = {
  http2: 'the HTTP/2 client against apn, firebase-admin and h2load',
  accept:
    'notify calls for one device each: accepted only, and until the response of the vendor is committed',
  'accept-list': 'lists of 1000 notify bodies for one device each, accepted only',
  tenants: 'notify calls of 1,000 and 10,000 applications, against those of one',
  standalone: 'notify calls to the one process that `npm start` runs',
  fairness: 'what an application gets from the standalone while another floods it',
  gorush: 'Herald against gorush; needs GORUSH=<path of the program>',
  scheduled: 'pushes that all begin at the same time',
  receipts: 'receipts of vendors',
  native: 'connections of the native channel, and a broadcast to them',
  import: 'an import of devices, plain and with tags',
  devices: 'single and batched upserts of devices',
  history: 'the history of a device and of a task, exports, statistics',
  webhooks: 'events to a webhook during a broadcast',
  idle: 'the standalone while nothing happens',
  'idle-programs': 'separate programs while nothing happens',
  broadcast: 'a broadcast by APNs, with the queue in Redis',
  'broadcast-events': 'a broadcast with events of each device, against one without',
  mixed: 'a broadcast to devices of all channels',
  'broadcast-postgres': 'a broadcast by APNs, with the queue in Postgres',
} as const

/** The parts of `--loaded`. */
export const loadedParts = {
  'first-look': 'what a process spends after its start to find the days with open work',
  accept: 'notify calls for one device each, accepted only',
  'end-to-end': 'notify calls for one device each, until the response of the vendor is committed',
  scheduled: parts.scheduled,
  receipts: parts.receipts,
  native: parts.native,
  import: 'an import of plain devices',
  'import-tagged': 'an import of devices with an alias and tags',
  'idle-programs': parts['idle-programs'],
  broadcast: parts.broadcast,
  mixed: parts.mixed,
  'broadcast-postgres': parts['broadcast-postgres'],
} as const

export type Part = keyof typeof parts
export type LoadedPart = keyof typeof loadedParts

const list = (of: Readonly<Record<string, string>>) =>
  Object.entries(of)
    .map(([name, about]) => `    ${name.padEnd(18)}  ${about}`)
    .join('\n')

export const usage = `usage: npm run bench -- [--quick] [--only=<part>]
       npm run bench -- --loaded [--quick | --small] [--load=days|rows] [--rounds=<n>] [--only=<part>]

  --only=<part>  runs one part and writes nothing; without it all figures are written to bench/latest.json
  --quick        smaller sizes
  --loaded       compares an empty database with one in which much waits
  --small        with --loaded: prepares little, to see that it works; writes nothing
  --load=days    with --loaded: prepares 400 days in which nothing waits; writes nothing
  --load=rows    with --loaded: prepares few days, and a fifth of what waits; writes nothing
  --rounds=<n>   with --loaded: how often at most a figure above the limit is taken in both databases; 4 without it
  --help         prints this text

  parts:
${list(parts)}

  parts of --loaded:
${list(loadedParts)}
`

/** What the loaded database has, if not both. */
export type Load = 'days' | 'rows'

export type Options =
  | { loaded: false; quick: boolean; only?: Part }
  | { loaded: true; scale: 'full' | 'quick' | 'small'; load?: Load; rounds?: number; only?: LoadedPart }

/** Reads the command line. A `refusal` is a sentence: a mistyped option must not start a run of an hour. */
export function readOptions(
  args: readonly string[],
): { help: true } | { refusal: string } | { options: Options } {
  let values: ReturnType<typeof parse>
  try {
    values = parse(args)
  } catch (error) {
    return { refusal: (error as Error).message }
  }
  const { help, loaded, quick, small, load, rounds, only } = values
  if (help) return { help: true }
  if (small && !loaded) return { refusal: '--small needs --loaded.' }
  if (small && quick) return { refusal: '--small and --quick exclude each other.' }
  if (load !== undefined) {
    if (!loaded) return { refusal: '--load needs --loaded.' }
    if (small) return { refusal: '--small and --load exclude each other.' }
    if (load !== 'days' && load !== 'rows') return { refusal: '--load is days or rows.' }
  }
  if (rounds !== undefined) {
    if (!loaded) return { refusal: '--rounds needs --loaded.' }
    if (!/^[1-9]\d?$/.test(rounds)) return { refusal: '--rounds is a number from 1 to 99.' }
  }
  const known = loaded ? loadedParts : parts
  if (only !== undefined && !Object.hasOwn(known, only))
    return {
      refusal: `There is no part ${JSON.stringify(only)}${loaded ? ' of --loaded' : ''}; the parts are ${Object.keys(known).join(', ')}.`,
    }
  return {
    options: loaded
      ? {
          loaded,
          scale: small ? 'small' : quick ? 'quick' : 'full',
          ...(load !== undefined && { load: load as Load }),
          ...(rounds !== undefined && { rounds: Number(rounds) }),
          only: only as LoadedPart | undefined,
        }
      : { loaded, quick, only: only as Part | undefined },
  }
}

function parse(args: readonly string[]) {
  const flag = { type: 'boolean', default: false } as const
  return parseArgs({
    args: [...args],
    options: {
      quick: flag,
      loaded: flag,
      small: flag,
      help: flag,
      load: { type: 'string' },
      rounds: { type: 'string' },
      only: { type: 'string' },
    },
  }).values
}

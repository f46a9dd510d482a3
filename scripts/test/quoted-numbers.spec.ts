import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'

const root = join(import.meta.dirname, '../..')

/** Where a page quotes a constant: # is the number. The constant is looked for in all files of a folder. */
const quotes: [page: string, sentence: string, folder: string, constant: RegExp, factor?: number][] = [
  ['how-it-works', 'An audience of up to # devices', 'packages/domain', /\bsmallAudience = (.+)/],
  ['how-it-works', 'unless # jobs are already waiting', 'packages/plan', /\bBACKLOG_JOBS = (.+)/],
  ['how-it-works', 'split into # **slices**', 'packages/db', /\bSLICES = (.+)/],
  ['how-it-works', 'is up to # recipients of one task', 'packages/domain', /\bbatchSize = (.+)/],
  [
    'how-it-works',
    'jobs are already waiting in their queue (# for',
    'packages/plan',
    /\bBACKLOG_JOBS_OF_BUSY = (.+)/,
  ],
  [
    'how-it-works',
    'with more than # pushes per second',
    'packages/plan',
    /\bDIRECT_PUSHES = { perSecond: (\d+)/,
  ],
  ['how-it-works', 'while fewer than # recipients', 'apps/planner', /\bMAX_RECIPIENTS = (.+)/],
  ['how-it-works', 'recipients and # batches are in flight', 'apps/planner', /\bCERTIFICATE_BATCHES = (.+)/],
  ['how-it-works', 'a share of # batches', 'apps/planner', /\bALL_BATCHES = (.+)/],
  ['how-it-works', 'reports no result for # seconds', 'packages/worker', /\bSTALL_MS = (.+)/, 1000],
  ['how-it-works', 'lanes `high` and `normal` # : 1', 'packages/db', /\* (\d+)\.0 AS turn FROM normal/],
  ['how-it-works', 'a lease of # seconds', 'packages/worker', /\bLEASE_SECONDS = (.+)/],
  ['how-it-works', 'a lease on the slice for # seconds', 'packages/db', /\bSLICE_LEASE_SECONDS = (.+)/],
  ['how-it-works', 'The second reads up to # devices', 'apps/planner', /\bPAGE_DEVICES = (.+)/],
  ['how-it-works', 'begin in groups of up to #,', 'apps/planner', /\bMAX_GROUP = (.+)/],
  ['how-it-works', 'It is tried every # seconds', 'apps/planner', /\bPOSTPONE_MS = (.+)/, 1000],
  ['how-it-works', 'to Postgres for # seconds', 'apps/planner', /\bSTEADY_MS = (.+)/, 1000],
  ['how-it-works', 'commits of # lines', 'apps/api', /\bMAX_BATCH = (.+)/],
  ['how-it-works', 'or every # after half a minute', 'apps/planner', /\bQUIET_INTERVAL_MS = (.+)/, 1000],
  ['how-it-works', 'one statement every # seconds counts', 'packages/queue', /\bLOOK_MS = (.+)/, 1000],
  ['how-it-works', 'both for # seconds at most', 'apps/planner', /\bQUIET_CHECK_MS = (.+)/, 1000],
  ['how-it-works', 'both for # seconds at most', 'apps/courier', /\bALONE_QUIET_MS = (.+)/, 1000],
  [
    'how-it-works',
    'takes a lease of # seconds instead',
    'apps/worker-native',
    /\bEMPTY_LEASE_SECONDS = (.+)/,
  ],
  ['operations', 'lost jobs # seconds after', 'apps/planner', /\bLOST_JOB_SECONDS = (.+)/],
  ['delivery-guarantees', 'at least # tokens', 'packages/db', /gone}\) >= (\d+) AND/],
  ['delivery-guarantees', 'within # minutes', 'packages/db', /\bGUARD_WINDOW = `interval '(\d+) minutes/],
  ['delivery-guarantees', 'Pages of at most # devices', 'apps/planner', /\bPAGE_DEVICES = (.+)/],
  ['delivery-guarantees', 'drains within # seconds', 'packages/program', /\bDRAIN_MS = (.+)/, 1000],
  ['delivery-guarantees', 'no job for # seconds', 'packages/queue', /\bdeadAfterMs = (\w+)/, 1000],
  ['delivery-guarantees', 'after # minutes the next', 'packages/domain', /\bPATIENCE_SECONDS = (.+)/, 60],
  ['concepts', '`high` for up to # devices', 'packages/domain', /\bsmallAudience = (.+)/],
  ['concepts', 'separate queues, served # : 1', 'packages/db', /\* (\d+)\.0 AS turn FROM normal/],
  ['concepts', 'at least # tokens', 'packages/db', /gone}\) >= (\d+) AND/],
  ['concepts', 'within # minutes and reported', 'packages/db', /\bGUARD_WINDOW = `interval '(\d+) minutes/],
  ['operations', 'at least # tokens', 'packages/db', /gone}\) >= (\d+) AND/],
  ['vendors/README', 'at least # tokens', 'packages/db', /gone}\) >= (\d+) AND/],
  [
    'api-reference',
    'allows # calls per second for a user',
    'apps/api',
    /\bcaller: tokenBuckets\({ perSecond: (\d+)/,
  ],
  [
    'api-reference',
    'for a user and # for an address',
    'apps/api',
    /\baddress: tokenBuckets\({ perSecond: (\d+)/,
  ],
]

const read = (path: string) => readFileSync(join(root, path), 'utf8')
const numberIn = (digits: string | undefined) => Number(digits?.replace(/[_,]/g, ''))

describe('numbers in the documents are those of the code:', () => {
  it.each(quotes)('%s: %s', (page, sentence, folder, constant, factor = 1) => {
    const [before, after] = sentence.split('#').map((text) => RegExp.escape(text).replaceAll('\\x20', '\\s+'))
    const quoted = new RegExp(`${before}([\\d,]+)${after}`).exec(read(`docs/${page}.md`))?.[1]
    const found = globSync(`${folder}/src/**/*.ts`, { cwd: root }).flatMap((file) => {
      const value = constant.exec(read(file))?.[1]
      return value === undefined ? [] : [numberIn(value)]
    })
    expect(found).toEqual([numberIn(quoted) * factor])
  })
})

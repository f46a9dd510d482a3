import { setImmediate as nextTurn } from 'node:timers/promises'
import { eachConcurrently } from '@herald/async'
import { isUnreachable } from '@herald/db/store'
import { findByRequestIds } from '@herald/db/tasks'
import type { NewTask } from '@herald/domain'
import type { Accepted } from '@herald/plan'
import { byOf } from '../audit.ts'
import { Failure } from '../codes.ts'
import { failureOfError } from '../http/answer-failure.ts'
import { isStorable, refuseUnstorable } from '../http/json.ts'
import { inputFailure } from '../input/input-failure.ts'
import { MIB, type RouteContext } from '../route.ts'
import { taskScopeOf } from '../scope.ts'
import type { AttachmentProbe } from './attachment-probe.ts'
import { checkNow, dependsOnNow } from './check-now.ts'
import { newTask } from './new-task.ts'
import { readNotifyBody } from './notify-body.ts'

/** The result of one entry. */
export type ListResult = Accepted | Failure

/**
 * Entries that are read before other calls get a turn: about as much CPU as one call. Without turns a list would delay the calls of all
 * other applications by the time that it takes to read a thousand bodies.
 */
const PER_TURN = 8
/** Entries that are accepted together. The next ones are read while these are committed, so that few are in memory. */
const PER_PART = 256
/** Pictures of one list that are fetched at a time. */
const PROBES = 8

/**
 * Accepts each entry of a list as notify accepts its body, one result per entry. The acceptor writes them in its usual groups and lets
 * the applications take turns, so a list does not delay the single push of another application by more than a group. `exts` has the
 * original text of `message.ext` of each entry that has it. Throws if nothing was accepted because the database is unreachable.
 */
export async function acceptList(
  context: RouteContext,
  entries: readonly unknown[],
  exts: readonly string[],
): Promise<ListResult[]> {
  const list: List = {
    context,
    probe: context.deps.probe && once(context.deps.probe),
    results: [],
    first: new Map(),
    errors: new Map(),
  }
  const read = reader(context, exts)
  let before: Promise<void> | undefined
  for (let from = 0; from < entries.length; from += PER_PART) {
    const entriesRead = await read(entries.slice(from, from + PER_PART))
    await before
    before = acceptParts(list, entriesRead)
    // Its error is thrown above or below.
    before.catch(() => {})
  }
  await before

  const { results, errors } = list
  const [error] = errors.keys()
  if (errors.size > 0 && [...errors.keys()].every(isUnreachable) && results.every(isFailure)) throw error
  logErrors(context, errors)
  return results
}

type List = {
  context: RouteContext
  probe?: AttachmentProbe
  /** Of the parts that have ended. */
  results: ListResult[]
  /** The entry that counts, by request id. */
  first: Map<string, number>
  errors: Map<unknown, number>
}

/** Appends the results of the next entries. A request id is looked up before the checks of its entry, so each is once in a part. */
async function acceptParts(list: List, read: readonly (NewTask | Failure)[]): Promise<void> {
  let part: (NewTask | Failure)[] = []
  let ids = new Set<string>()
  for (const entry of read) {
    const id = entry instanceof Failure ? undefined : entry.requestId
    if (id !== undefined && ids.has(id)) {
      await acceptPart(list, part)
      part = []
      ids = new Set()
    }
    if (id !== undefined) ids.add(id)
    part.push(entry)
  }
  await acceptPart(list, part)
}

async function acceptPart(list: List, read: readonly (NewTask | Failure)[]): Promise<void> {
  const results: (ListResult | undefined)[] = read.map((one) => (one instanceof Failure ? one : undefined))
  const waiting = () =>
    read.flatMap((task, at) => (results[at] === undefined ? [{ at, task: task as NewTask }] : []))

  const { deps } = list.context
  const checked = waiting().filter(({ task }) => dependsOnNow(task, deps.probe))
  await checkEntries(list, checked, results).catch((error: unknown) => {
    // Others may have been accepted already, so the list goes on.
    for (const { at } of checked) results[at] ??= failedWith(list, error)
  })

  // Of entries with the same request id the first one counts.
  const start = list.results.length
  const repeats: { at: number; of: number }[] = []
  const fresh = waiting().filter(({ at, task: { requestId } }) => {
    if (requestId === undefined) return true
    const of = list.first.get(requestId)
    if (of === undefined) list.first.set(requestId, start + at)
    else repeats.push({ at, of })
    return of === undefined
  })
  const accepted = await Promise.allSettled(fresh.map(({ task }) => deps.acceptor.accept(task)))
  accepted.forEach((outcome, i) => {
    const { at } = fresh[i]!
    results[at] = outcome.status === 'fulfilled' ? outcome.value : failedWith(list, outcome.reason)
  })
  for (const { at, of } of repeats) results[at] = repeatOf(list.results[of]!)
  list.results.push(...(results as ListResult[]))
}

type Waiting = { at: number; task: NewTask }

/** The checks that depend on the time or on other servers; sets the results of entries that fail, and of repeated ones. */
async function checkEntries(
  { context: { deps, appId }, probe }: List,
  checked: readonly Waiting[],
  results: (ListResult | undefined)[],
): Promise<void> {
  // Of the other entries the acceptor itself notices that the request id was used before.
  const named = checked.filter(({ task }) => task.requestId !== undefined)
  const known = await findByRequestIds(
    deps.db,
    appId,
    named.map(({ task }) => task.requestId!),
  )
  named.forEach(({ at }, i) => {
    const taskId = known[i]
    if (taskId !== undefined) results[at] = { taskId, fresh: false }
  })

  const unknown = checked.filter(({ at }) => results[at] === undefined)
  await eachConcurrently(unknown, PROBES, async ({ at, task }) => {
    await checkNow(task, probe).catch((error: unknown) => {
      if (!(error instanceof Failure)) throw error
      results[at] = error
    })
  })
}

/** The result of an entry that failed with an error. */
function failedWith({ errors }: List, error: unknown): Failure {
  errors.set(error, (errors.get(error) ?? 0) + 1)
  return failureOfError(error).failure
}

/** Reads the entries of a list, part by part. */
function reader(context: RouteContext, exts: readonly string[]) {
  const scope = taskScopeOf(context)
  const by = byOf(context)
  let nextExt = 0
  let turn = 0
  return async (entries: readonly unknown[]): Promise<(NewTask | Failure)[]> => {
    const read: (NewTask | Failure)[] = []
    for (const entry of entries) {
      // A part may be accepted already: if too many calls wait, the list only lets the event loop turn.
      if (turn++ % PER_TURN === PER_TURN - 1)
        await context.deps.turns.enter(context.appId).catch(() => nextTurn())
      const ext = hasExt(entry) ? exts[nextExt++] : undefined
      try {
        if (!isStorable(entry)) refuseUnstorable(entry, '')
        const body = readNotifyBody(entry)
        if (!body.success) throw inputFailure(body.error.issues)
        const task = newTask(scope, context.application, body.data, ext, by)
        refuseLarge(task)
        read.push(task)
      } catch (error) {
        if (!(error instanceof Failure)) throw error
        read.push(error)
      }
    }
    return read
  }
}

/** Whether the text of the entry has an object or a list at message.ext, as the scan of the body finds them. */
function hasExt(entry: unknown): boolean {
  const message = fieldOf(entry, 'message')
  const ext = fieldOf(message, 'ext')
  return typeof ext === 'object' && ext !== null
}

function fieldOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  return Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined
}

/** A message that is too large for notify is too large here. */
function refuseLarge({ message }: NewTask): void {
  const texts = [message.title, message.body, message.bigText, message.ext]
  const length = texts.reduce((sum, text) => sum + (text?.length ?? 0), 0)
  // UTF-8 needs at most three bytes per unit.
  if (length * 3 <= MIB) return
  if (texts.reduce((sum, text) => sum + Buffer.byteLength(text ?? ''), 0) > MIB)
    throw new Failure(41301, 'The message is larger than 1 MiB.')
}

/** Fetches each picture once, however many entries show it. */
function once(probe: AttachmentProbe): AttachmentProbe {
  const found = new Map<string, ReturnType<AttachmentProbe>>()
  return (url) => {
    const result = found.get(url) ?? probe(url)
    found.set(url, result)
    return result
  }
}

function repeatOf(first: ListResult): ListResult {
  return first instanceof Failure ? first : { ...first, fresh: false }
}

const isFailure = (result: ListResult) => result instanceof Failure

/** Each error once: those of a group are the same object. */
function logErrors({ deps, requestId }: RouteContext, errors: ReadonlyMap<unknown, number>): void {
  for (const [error, entries] of errors) {
    const { failure, unexpected } = failureOfError(error)
    const about = { err: error, requestId, entries, path: '/push/notify/batch' }
    if (unexpected) deps.log.error(about, 'entries of a list failed with an unexpected error')
    else deps.log.warn(about, failure.message)
  }
}

import type { Click } from '@herald/domain'
import { isUnsupported, type Task, type Unsupported } from '../channel.ts'
import { type IntentUri, isWebPage, parseIntentUri, viewIntent } from '../shared/intent-uri.ts'
import { asStrings, clientData } from '../shared/payload-parts.ts'
import type { OppoNotification } from './notification.ts'

type ClickFields = Pick<
  OppoNotification,
  'click_action_type' | 'click_action_activity' | 'click_action_url' | 'action_parameters'
>

const maxActivity = 500
const maxUrl = 2000
const maxParameters = 4000

/**
 * The click and the data for the app. With types 0 and 4 the app gets `action_parameters` as extras. With type 5 OPPO appends them to
 * the URL, where Android ignores what follows the intent's `end`: the data goes into the intent itself.
 */
export function clickOf(task: Task, click: Click): ClickFields | Unsupported {
  if (click.kind === 'open_app') return withParameters(task, { click_action_type: 0 }, {})
  if (click.kind === 'url') return openUrl(task, click.url)
  return openIntent(task, click.intent)
}

/** A web page gets no data: OPPO would append it to the address, where the page's server and its logs could read it. */
function openUrl(task: Task, url: string): ClickFields | Unsupported {
  if (isWebPage(url) && url.length <= maxUrl) return { click_action_type: 2, click_action_url: url }
  const opened = isWebPage(url) ? undefined : openIntent(task, viewIntent(url))
  return opened && !isUnsupported(opened) ? opened : withParameters(task, { click_action_type: 0 }, { url })
}

function openIntent(task: Task, intent: string): ClickFields | Unsupported {
  const uri = parseIntentUri(intent)
  const activity = uri && activityOf(uri)
  if (activity) {
    const extras = Object.fromEntries(uri.extras.map(({ name, value }) => [name, value]))
    return withParameters(task, { click_action_type: 4, click_action_activity: activity }, extras)
  }
  const url = longestFitting(task, {}, (data) => withExtras(intent, data), maxUrl)
  return url === undefined
    ? { unsupported: `OPPO accepts an intent of at most ${maxUrl} characters, ext included`, tooLarge: true }
    : { click_action_type: 5, click_action_url: url }
}

function withParameters(
  task: Task,
  click: ClickFields,
  extras: Readonly<Record<string, string>>,
): ClickFields | Unsupported {
  const parameters = longestFitting(task, extras, (data) => JSON.stringify(data), maxParameters)
  return parameters === undefined
    ? { unsupported: `OPPO accepts at most ${maxParameters} characters of ext`, tooLarge: true }
    : { ...click, action_parameters: parameters }
}

/** With the attachment's URL if that fits: a message is not refused because of a picture. */
function longestFitting(
  task: Task,
  extras: Readonly<Record<string, string>>,
  write: (data: Record<string, string>) => string,
  max: number,
): string | undefined {
  for (const fields of [{ attachment_url: task.message.attachmentUrl, ...extras }, extras]) {
    const written = write(asStrings(clientData(task, fields)))
    if (written.length <= max) return written
  }
  return undefined
}

/** The class that an intent opens, if class and string extras are all it has: type 4 carries nothing else. */
function activityOf({ address, fields, extras }: IntentUri): string | undefined {
  const [packageName, name] = fields.get('component')?.split('/') ?? []
  if (!packageName || !name || address !== 'intent:') return undefined
  if ([...fields.keys()].some((field) => !carried.has(field))) return undefined
  if (extras.some(({ kind }) => kind !== 'S')) return undefined
  const activity = name.startsWith('.') ? packageName + name : name
  return activity.length <= maxActivity ? activity : undefined
}

/** OPPO starts the activity of its own package, with its own flags. */
const carried: ReadonlySet<string> = new Set(['component', 'package', 'launchFlags'])

/** Of several extras with one name Android takes the last. */
function withExtras(intent: string, data: Readonly<Record<string, string>>): string {
  const parts = Object.entries(data).map(
    ([name, value]) =>
      `S.${encodeURIComponent(name.toWellFormed())}=${encodeURIComponent(value.toWellFormed())};`,
  )
  return intent.replace(/;end;?$/, `;${parts.join('')}end`)
}

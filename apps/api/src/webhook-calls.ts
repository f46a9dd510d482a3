import {
  CallRefused,
  checkAddress,
  createWebhookPoster,
  type GuardOptions,
  type PostResult,
} from '@herald/outbound'

/** The calls that the API itself makes to webhooks; events are sent by the courier. */
export type WebhookCalls = {
  /** Returns what is wrong with the address of a webhook, the second half of a sentence; undefined: nothing. */
  problemOf(url: string): Promise<string | undefined>
  post(message: { url: string; secret: string; id: string; body: Buffer }): Promise<PostResult>
}

/** A name that does not resolve within this time is checked with each request. */
const RESOLVE_MS = 3_000

export function createWebhookCalls(
  options: GuardOptions & { allowPrivate: boolean; limitMs?: number },
): WebhookCalls {
  const { allowPrivate, limitMs, ...given } = options
  const guard = allowPrivate ? { mayCall: () => true, ...given } : given
  return {
    async problemOf(text) {
      const url = URL.canParse(text) ? new URL(text) : undefined
      if (url?.protocol !== 'https:' && url?.protocol !== 'http:')
        return 'must begin with https:// or http://'
      if (url.username !== '' || url.password !== '') return 'must not contain a user name or password'
      try {
        await checkAddress(url.hostname, guard, AbortSignal.timeout(RESOLVE_MS))
        return undefined
      } catch (error) {
        if (!(error instanceof CallRefused)) return undefined
        return `${error.message}, unless HERALD_WEBHOOK_PRIVATE is on`
      }
    },
    async post(message) {
      const poster = createWebhookPoster({ ...guard, limitMs })
      try {
        return await poster.post(message)
      } finally {
        poster.close()
      }
    },
  }
}

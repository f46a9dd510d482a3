import type { KeptRequestId } from '../../api/request-id.ts'
import { onSignOut } from '../../session/sign-out-tasks.ts'
import { type Draft, isUntouched, readDraft } from './draft.ts'

const PREFIX = 'herald.draft.'

/** What is kept of the page in this tab, per application: it survives a reload, the end of the session and a look at another page. */
export type KeptDraft = { draft: Draft; requestId?: KeptRequestId }

export function loadDraft(appId: string): KeptDraft | undefined {
  try {
    const stored = JSON.parse(sessionStorage.getItem(PREFIX + appId) ?? 'null') as KeptDraft | null
    const draft = readDraft(stored?.draft)
    return draft && { draft, requestId: stored?.requestId }
  } catch {
    return undefined
  }
}

export function storeDraft(appId: string, kept: KeptDraft): void {
  try {
    if (isUntouched(kept.draft)) sessionStorage.removeItem(PREFIX + appId)
    else sessionStorage.setItem(PREFIX + appId, JSON.stringify(kept))
  } catch {
    // The storage is full or forbidden: the draft then lives as long as the page.
  }
}

onSignOut(() => {
  for (const key of Object.keys(sessionStorage)) if (key.startsWith(PREFIX)) sessionStorage.removeItem(key)
})

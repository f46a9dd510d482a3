import { useEffect, useRef, useState } from 'react'
import { createRequestId, type KeptRequestId, requestIdFor } from '../../api/request-id.ts'
import { blankDraft, type Change, type Draft, isUntouched } from './draft.ts'
import { loadDraft, storeDraft } from './draft-storage.ts'
import { requestText } from './request.ts'

export type DraftState = {
  draft: Draft
  change: Change
  replace(draft: Draft): void
  clear(): void
  /** The id of the present request; stored, so that it is the same after a reload. */
  requestId(): string
}

/** The draft of an application. Asks before the tab is closed with something in it. */
export function useDraft(appId: string): DraftState {
  const [kept] = useState(() => loadDraft(appId))
  const [draft, setDraft] = useState(kept?.draft ?? blankDraft)
  const id = useRef<KeptRequestId>(kept?.requestId)
  const unsent = !isUntouched(draft)
  useEffect(() => storeDraft(appId, { draft, requestId: id.current }), [appId, draft])
  useEffect(() => {
    if (!unsent) return
    const ask = (event: BeforeUnloadEvent) => event.preventDefault()
    addEventListener('beforeunload', ask)
    return () => removeEventListener('beforeunload', ask)
  }, [unsent])
  return {
    draft,
    change: (fields) => setDraft((before) => ({ ...before, ...fields })),
    replace: setDraft,
    clear() {
      id.current = undefined
      setDraft(blankDraft)
      // The page may be left in the same turn, before the effect runs.
      storeDraft(appId, { draft: blankDraft })
    },
    requestId() {
      id.current = requestIdFor(id.current, requestText(draft), createRequestId)
      storeDraft(appId, { draft, requestId: id.current })
      return id.current.id
    },
  }
}

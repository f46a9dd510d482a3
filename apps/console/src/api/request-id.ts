import { useRef } from 'react'

/** The id with which a request is sent. It stays the same until the request changes, so that a repeated press sends nothing twice. */
export type KeptRequestId = { id: string; text: string }

/** `text` is the request without an id. */
export function requestIdFor(
  kept: KeptRequestId | undefined,
  text: string,
  create: () => string,
): KeptRequestId {
  return kept?.text === text ? kept : { id: create(), text }
}

/** Works without https too, where `crypto.randomUUID` is missing. */
export function createRequestId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return `console-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}

/** For a push that may be repeated on purpose: the id changes with the request, and after a success. */
export function useRequestId() {
  const kept = useRef<KeptRequestId>(undefined)
  return {
    idFor(text: string): string {
      kept.current = requestIdFor(kept.current, text, createRequestId)
      return kept.current.id
    },
    reset() {
      kept.current = undefined
    },
  }
}

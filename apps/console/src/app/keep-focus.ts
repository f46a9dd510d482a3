import { useEffect } from 'react'

/** Others, such as a closing dialog, move the focus themselves; this waits for them. */
const SETTLE_MS = 50

/**
 * A button that is disabled while its call runs, or that vanishes with the answer, loses the focus to the body: the next Tab would
 * begin at the top of the page. Gives it back to the button, or, if that stays disabled or is gone, to the part of the page that contained it.
 */
export function useKeptFocus(): void {
  useEffect(() => {
    let last: HTMLElement | undefined
    let parents: HTMLElement[] = []
    /** Those of the element that had the focus before a dialog was opened: with the dialog, its own parents are gone. */
    let beforeDialog: HTMLElement[] = []
    let timer: ReturnType<typeof setTimeout> | undefined

    const note = ({ target }: Event) => {
      if (!(target instanceof HTMLElement)) return
      last = target
      parents = parentsOf(target)
      if (!target.closest('[role="dialog"]')) beforeDialog = parents
    }
    // A click beside everything gives up the focus on purpose.
    const forget = ({ target }: Event) => {
      if (
        target instanceof Element &&
        !target.closest('a, button, input, select, textarea, label, [tabindex]')
      )
        last = undefined
    }
    const restore = () => {
      if (!last || !isLost() || !document.hasFocus()) return
      if (last.isConnected && !last.matches(':disabled')) {
        last.focus({ preventScroll: true })
        return
      }
      // It is enabled again when its call ends.
      if (last.isConnected && (last.hasAttribute('data-loading') || last.closest('fieldset:disabled'))) return
      const place = [...parents, ...beforeDialog].find((parent) => parent.isConnected)
      if (!place) return
      if (!place.hasAttribute('tabindex')) place.tabIndex = -1
      place.focus({ preventScroll: true })
    }
    const observer = new MutationObserver(() => {
      if (!isLost()) return
      clearTimeout(timer)
      timer = setTimeout(restore, SETTLE_MS)
    })
    document.addEventListener('focusin', note)
    document.addEventListener('pointerdown', forget)
    observer.observe(document.body, {
      subtree: true,
      childList: true,
      attributes: true,
      attributeFilter: ['disabled', 'data-loading'],
    })
    return () => {
      clearTimeout(timer)
      observer.disconnect()
      document.removeEventListener('focusin', note)
      document.removeEventListener('pointerdown', forget)
    }
  }, [])
}

/** A disabled element loses the focus to the body with the next frame. The answer of a fast call may come before that. */
function isLost(): boolean {
  const { activeElement } = document
  return activeElement === document.body || activeElement?.matches(':disabled') === true
}

/** From the innermost: dialogs, panels and the page. */
function parentsOf(element: HTMLElement): HTMLElement[] {
  const found: HTMLElement[] = []
  for (let parent = element.parentElement; parent; parent = parent.parentElement)
    if (parent.matches('section, [role="dialog"], main')) found.push(parent)
  return found
}

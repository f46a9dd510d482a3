import { Table } from '@mantine/core'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'

type Props = { label: string; minWidth?: number; children: ReactNode }

/**
 * A table that scrolls horizontally on a narrow screen, with a shadow at the edge behind which there is more. Hide columns of less
 * interest with `visibleFrom` first: few people scroll a table sideways.
 */
export function WideTable({ label, minWidth = 640, children }: Props) {
  const { t } = useTranslation()
  const box = useRef<HTMLDivElement>(null)
  const [scrolls, setScrolls] = useState(false)
  useEffect(() => {
    const element = box.current
    if (!element) return
    const observer = new ResizeObserver(() => setScrolls(element.scrollWidth > element.clientWidth + 1))
    observer.observe(element)
    if (element.firstElementChild) observer.observe(element.firstElementChild)
    return () => observer.disconnect()
  }, [])
  // Reachable by keyboard while it scrolls; otherwise it would be one more stop for nothing.
  const reachable = scrolls
    ? { tabIndex: 0, role: 'group', 'aria-label': t('app.scrollable', { name: label }) }
    : {}
  return (
    <div ref={box} className="scroll" {...reachable}>
      <Table miw={minWidth} verticalSpacing="xs" aria-label={label}>
        {children}
      </Table>
    </div>
  )
}

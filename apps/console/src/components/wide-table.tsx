import { Table } from '@mantine/core'
import type { ReactNode } from 'react'

type Props = { label: string; minWidth?: number; children: ReactNode }

/** A table that scrolls horizontally on a narrow screen. */
export function WideTable({ label, minWidth = 640, children }: Props) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable area must be reachable by keyboard
    <section className="scroll" tabIndex={0} aria-label={label}>
      <Table miw={minWidth} verticalSpacing="xs" aria-label={label}>
        {children}
      </Table>
    </section>
  )
}

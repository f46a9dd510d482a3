import { Group, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import { usePageTitle } from './page-title.ts'

type Props = { title: string; lead?: ReactNode; children?: ReactNode }

/** Also sets the window title. `children` are the page's actions. */
export function PageHeader({ title, lead, children }: Props) {
  usePageTitle(title)
  return (
    <Group justify="space-between" align="flex-end" gap="sm">
      <div>
        <Title order={1}>{title}</Title>
        {lead && (
          <Text c="dimmed" size="sm" component="div">
            {lead}
          </Text>
        )}
      </div>
      {children && <Group gap="xs">{children}</Group>}
    </Group>
  )
}

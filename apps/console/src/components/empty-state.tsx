import { Stack, Text, ThemeIcon } from '@mantine/core'
import type { Icon as IconComponent } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { usePageTitle } from './page-title.ts'

type Props = {
  icon: IconComponent
  title: string
  text?: string
  /** It is the whole page: its title is the page's heading and title. */
  page?: true
  children?: ReactNode
}

/** Explains why a list or page is empty; `children` offer the next step. */
export function EmptyState({ icon: Icon, title, text, page, children }: Props) {
  usePageTitle(page && title)
  return (
    <Stack align="center" gap="xs" py="xl" px="md">
      <ThemeIcon variant="light" size={44} radius="xl">
        <Icon size={24} aria-hidden />
      </ThemeIcon>
      <Text component={page ? 'h1' : 'p'} m={0} fw={600} ta="center">
        {title}
      </Text>
      {text && (
        <Text c="dimmed" size="sm" ta="center" maw={460}>
          {text}
        </Text>
      )}
      {children}
    </Stack>
  )
}

import { Stack, Text, ThemeIcon } from '@mantine/core'
import type { Icon } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { usePageTitle } from './page-title.ts'

type Props = {
  icon: Icon
  title: string
  text?: string
  /** It is all that the page has, so that its title is the page's. */
  page?: true
  children?: ReactNode
}

/** Says in words why there is nothing to see, and offers the next step. */
export function Empty({ icon: Sign, title, text, page, children }: Props) {
  usePageTitle(page && title)
  return (
    <Stack align="center" gap="xs" py="xl" px="md">
      <ThemeIcon variant="light" size={44} radius="xl">
        <Sign size={24} aria-hidden />
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

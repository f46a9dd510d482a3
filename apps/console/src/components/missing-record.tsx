import { Button, Paper, Stack } from '@mantine/core'
import type { Icon } from '@tabler/icons-react'
import { AppLink } from './app-link.tsx'
import { BackLink } from './back-link.tsx'
import { EmptyState } from './empty-state.tsx'
import { ErrorAlert } from './error-alert.tsx'
import { PageHeader } from './page-header.tsx'

type Props = {
  title: string
  text: string
  icon: Icon
  list: { to: string; name: string }
  query: { error: unknown; refetch(): unknown }
}

/** Replaces the page of a record that does not exist or could not be loaded. */
export function MissingRecord({ title, text, icon, list, query }: Props) {
  return (
    <Stack>
      <PageHeader title={title} lead={<BackLink to={list.to}>{list.name}</BackLink>} />
      {query.error ? (
        <ErrorAlert error={query.error} retry={query.refetch} />
      ) : (
        <Paper withBorder>
          <EmptyState icon={icon} title={text}>
            <Button component={AppLink} to={list.to} variant="default">
              {list.name}
            </Button>
          </EmptyState>
        </Paper>
      )}
    </Stack>
  )
}

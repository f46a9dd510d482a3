import { Button, Paper, Stack } from '@mantine/core'
import type { Icon } from '@tabler/icons-react'
import { Link } from 'react-router'
import { BackLink } from './back-link.tsx'
import { Empty } from './empty.tsx'
import { PageHead } from './page-head.tsx'
import { Problem } from './problem.tsx'

type Props = {
  title: string
  text: string
  icon: Icon
  list: { to: string; name: string }
  query: { error: unknown; refetch(): unknown }
}

/** Instead of a page about one thing that does not exist, or could not be read. */
export function Missing({ title, text, icon, list, query }: Props) {
  return (
    <Stack>
      <PageHead title={title} lead={<BackLink to={list.to}>{list.name}</BackLink>} />
      {query.error ? (
        <Problem error={query.error} retry={query.refetch} />
      ) : (
        <Paper withBorder>
          <Empty icon={icon} title={text}>
            <Button component={Link} to={list.to} variant="default">
              {list.name}
            </Button>
          </Empty>
        </Paper>
      )}
    </Stack>
  )
}

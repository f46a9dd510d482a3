import { Anchor } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { Done } from './done.tsx'

/** A push was taken, and this is where to watch it. */
export function Accepted({ taskId }: { taskId: number }) {
  const { t } = useTranslation()
  return (
    <Done>
      {t('send.sent', { id: taskId })}{' '}
      <Anchor component={Link} to={`/tasks/${taskId}`}>
        {t('send.watch')}
      </Anchor>
    </Done>
  )
}

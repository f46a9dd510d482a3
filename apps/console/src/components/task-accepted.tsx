import { Anchor } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { AppLink } from './app-link.tsx'
import { SuccessAlert } from './success-alert.tsx'

/** Confirms that a push was accepted and links to its task. */
export function TaskAccepted({ taskId }: { taskId: number }) {
  const { t } = useTranslation()
  return (
    <SuccessAlert>
      {t('send.accepted', { id: taskId })}{' '}
      <Anchor component={AppLink} to={`/tasks/${taskId}`}>
        {t('send.viewTask')}
      </Anchor>
    </SuccessAlert>
  )
}

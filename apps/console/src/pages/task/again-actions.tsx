import { Button, Group } from '@mantine/core'
import { IconCode, IconRepeat } from '@tabler/icons-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { AppLink } from '../../components/app-link.tsx'
import { CurlDialog } from '../../components/curl-dialog.tsx'
import { useRequest } from './request-panel.tsx'

/** Opens the form with what the task sent, or shows the call that sends it. A recall has no such call. */
export function AgainActions({ appId, taskId }: { appId: string; taskId: number }) {
  const { t } = useTranslation()
  const [opened, setOpened] = useState(false)
  const request = useRequest(appId, taskId).data
  const body = request?.body
  const again = {
    variant: 'default',
    leftSection: <IconRepeat size={16} aria-hidden />,
    children: t('task.again'),
  }
  return (
    <Group gap="xs">
      {body ? (
        <Button {...again} component={AppLink} to={`/send?from=${taskId}`} />
      ) : (
        <Button {...again} disabled />
      )}
      <Button
        variant="default"
        leftSection={<IconCode size={16} aria-hidden />}
        disabled={!body}
        onClick={() => setOpened(true)}
      >
        {t('app.curl')}
      </Button>
      {body && (
        <CurlDialog
          opened={opened}
          path="/push/notify"
          body={body}
          groupId={request?.group_id?.toString()}
          onClose={() => setOpened(false)}
        />
      )}
    </Group>
  )
}

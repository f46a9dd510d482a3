import { Button, Code, CopyButton, Group, Modal, Stack, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { curlOf } from '../calculations/curl.ts'
import { useAppId } from '../session/session.ts'

/** `groupId`: the call concerns the devices of this group only. */
type Props = { opened: boolean; path: string; body: string; groupId?: string; onClose(): void }

/** Shows a call of the API as a command to copy. */
export function CurlDialog({ opened, path, body, groupId, onClose }: Props) {
  const { t } = useTranslation()
  const command = curlOf(globalThis.location.origin, useAppId(), path, body, groupId)
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      size="lg"
      title={t('app.curlTitle')}
      closeButtonProps={{ 'aria-label': t('app.close') }}
    >
      <Stack gap="sm">
        <Text size="sm">{t('app.curlHint')}</Text>
        <Code block tabIndex={0} data-from="api">
          {command}
        </Code>
        <Group justify="flex-end">
          <CopyButton value={command}>
            {({ copied, copy }) => <Button onClick={copy}>{t(copied ? 'app.copied' : 'app.copy')}</Button>}
          </CopyButton>
        </Group>
      </Stack>
    </Modal>
  )
}

import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { CopyText } from '../../components/copy-text.tsx'

/** The secret is shown only once. */
export type Created = { name: string; app_id: string; app_secret: string }

/** Only its button closes it, because the secret cannot be shown again. */
export function SecretDialog({ created, onClose }: { created: Created | undefined; onClose(): void }) {
  const { t } = useTranslation()
  return (
    <Modal
      opened={created !== undefined}
      onClose={onClose}
      title={t('applications.secretTitle')}
      withCloseButton={false}
      closeOnClickOutside={false}
      closeOnEscape={false}
    >
      {created && (
        <Stack>
          <Text size="sm">{t('applications.secretText', { name: created.name })}</Text>
          <div>
            <Text size="xs" c="dimmed">
              {t('signIn.appId')}
            </Text>
            <CopyText value={created.app_id} />
          </div>
          <div>
            <Text size="xs" c="dimmed">
              {t('signIn.appSecret')}
            </Text>
            <CopyText value={created.app_secret} />
          </div>
          <Group justify="flex-end">
            <Button onClick={onClose}>{t('app.close')}</Button>
          </Group>
        </Stack>
      )}
    </Modal>
  )
}

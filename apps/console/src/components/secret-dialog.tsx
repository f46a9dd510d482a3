import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { CopyText } from './copy-text.tsx'

export type Secret = { text: string; values: [name: string, value: string][] }

/** Shows a secret once. Only its button closes it, because the secret cannot be shown again. */
export function SecretDialog({ secret, onClose }: { secret: Secret | undefined; onClose(): void }) {
  const { t } = useTranslation()
  return (
    <Modal
      opened={secret !== undefined}
      onClose={onClose}
      title={t('app.secretTitle')}
      withCloseButton={false}
      closeOnClickOutside={false}
      closeOnEscape={false}
    >
      {secret && (
        <Stack>
          <Text size="sm">{secret.text}</Text>
          {secret.values.map(([name, value]) => (
            <div key={name}>
              <Text size="xs" c="dimmed">
                {name}
              </Text>
              <CopyText value={value} />
            </div>
          ))}
          <Group justify="flex-end">
            <Button onClick={onClose}>{t('app.close')}</Button>
          </Group>
        </Stack>
      )}
    </Modal>
  )
}

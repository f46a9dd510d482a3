import { Button, Group, Modal, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'

type Props = {
  opened: boolean
  title: string
  text: string
  button: string
  danger?: boolean
  busy?: boolean
  onConfirm(): void
  onClose(): void
}

/** Asks before an irreversible action. With `danger` the focus is on Back, so that Enter does not confirm. */
export function ConfirmDialog({ opened, title, text, button, danger, busy, onConfirm, onClose }: Props) {
  const { t } = useTranslation()
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={title}
      centered
      closeButtonProps={{ 'aria-label': t('app.close') }}
    >
      <Text size="sm" mb="lg">
        {text}
      </Text>
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose} data-autofocus={danger}>
          {t('app.back')}
        </Button>
        <Button
          color={danger ? 'red.9' : undefined}
          loading={busy}
          onClick={onConfirm}
          data-autofocus={!danger}
        >
          {button}
        </Button>
      </Group>
    </Modal>
  )
}

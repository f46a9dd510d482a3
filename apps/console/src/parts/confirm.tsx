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

/** Asks before what cannot be taken back. A danger is not one key away. */
export function Confirm({ opened, title, text, button, danger, busy, onConfirm, onClose }: Props) {
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

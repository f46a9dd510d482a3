import { Modal, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { DialogActions } from './dialog-actions.tsx'

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
      <DialogActions
        label={button}
        danger={danger}
        busy={busy}
        focus={danger ? 'back' : 'confirm'}
        onConfirm={onConfirm}
        onClose={onClose}
      />
    </Modal>
  )
}

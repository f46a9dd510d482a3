import { Button, Group } from '@mantine/core'
import { useTranslation } from 'react-i18next'

type Props = {
  /** What the second button does. */
  label: string
  busy?: boolean
  disabled?: boolean
  /** Something is lost by it. */
  danger?: boolean
  /** Which button has the focus when the dialog opens. Default: a field of the dialog. */
  focus?: 'back' | 'confirm'
  /** Default: submits the form around it. */
  onConfirm?(): void
  onClose(): void
}

/** The buttons at the end of a dialog: Back, and what the dialog is for. */
export function DialogActions({ label, busy, disabled, danger, focus, onConfirm, onClose }: Props) {
  const { t } = useTranslation()
  return (
    <Group justify="flex-end">
      <Button variant="default" onClick={onClose} data-autofocus={focus === 'back' || undefined}>
        {t('app.back')}
      </Button>
      <Button
        type={onConfirm ? 'button' : 'submit'}
        color={danger ? 'red.9' : undefined}
        loading={busy}
        disabled={disabled}
        onClick={onConfirm}
        data-autofocus={focus === 'confirm' || undefined}
      >
        {label}
      </Button>
    </Group>
  )
}

import { Modal, Stack, Text, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { DialogActions } from './dialog-actions.tsx'

type Props = {
  opened: boolean
  title: string
  text: string
  /** What the user has to type. */
  name: string
  button: string
  busy?: boolean
  onConfirm(): void
  onClose(): void
  children?: ReactNode
}

/** Asks for a name to be typed before something is lost forever. */
export function TypedConfirmDialog(props: Props) {
  const { t } = useTranslation()
  return (
    <Modal
      opened={props.opened}
      onClose={props.onClose}
      title={props.title}
      centered
      closeButtonProps={{ 'aria-label': t('app.close') }}
    >
      {/* Mounted with the dialog, so that the text of the last time is gone. */}
      <TypedForm {...props} />
    </Modal>
  )
}

function TypedForm({ text, name, button, busy, onConfirm, onClose, children }: Props) {
  const { t } = useTranslation()
  const [typed, setTyped] = useState('')
  const [tried, setTried] = useState(false)
  const matches = typed.trim() === name
  return (
    <form
      autoComplete="off"
      onSubmit={(event) => {
        event.preventDefault()
        setTried(true)
        if (matches) onConfirm()
      }}
    >
      <Stack gap="sm">
        <Text size="sm">{text}</Text>
        {children}
        <TextInput
          label={t('app.typeToConfirm', { name })}
          value={typed}
          data-autofocus
          error={tried && !matches && t('app.typedDiffers')}
          onChange={({ currentTarget }) => setTyped(currentTarget.value)}
        />
        <DialogActions label={button} danger busy={busy} onClose={onClose} />
      </Stack>
    </form>
  )
}

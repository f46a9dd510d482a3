import type { CredentialField } from '@herald/channels/cards'
import { Button, FileButton, Group, Text } from '@mantine/core'
import { IconUpload } from '@tabler/icons-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { readCertificateFile } from './read-file.ts'

type Props = {
  /** The field that is filled. */
  name: string
  file: NonNullable<CredentialField['file']>
  onRead(text: string): void
}

/** Fills a field of the form from a file. */
export function FilePicker({ name, file, onRead }: Props) {
  const { t } = useTranslation()
  const [chosen, setChosen] = useState<string>()
  const [tooLarge, setTooLarge] = useState(false)
  return (
    <Group gap="xs">
      <FileButton
        accept={file.accept}
        inputProps={{ 'aria-label': t('certificates.fileOf', { name }) }}
        onChange={async (next) => {
          if (!next) return
          setChosen(next.name)
          const text = await readCertificateFile(next, file.as)
          setTooLarge(text === undefined)
          if (text !== undefined) onRead(text)
        }}
      >
        {(props) => (
          <Button {...props} size="xs" variant="default" leftSection={<IconUpload size={14} aria-hidden />}>
            {t('certificates.file', { types: file.accept.replaceAll(',', ', ') })}
          </Button>
        )}
      </FileButton>
      <Text size="xs" c={tooLarge ? 'var(--mantine-color-error)' : 'dimmed'} className="breaks" role="status">
        {tooLarge ? t('certificates.fileTooLarge') : (chosen ?? t('certificates.fileHint'))}
      </Text>
    </Group>
  )
}

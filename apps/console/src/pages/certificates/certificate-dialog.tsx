import type { CertificateView } from '@herald/client'
import { Modal } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useLabels } from '../../i18n/labels.ts'
import { CertificateForm } from './certificate-form.tsx'

export type Editing = 'new' | CertificateView

type Props = {
  editing: Editing | undefined
  existing: CertificateView[]
  onEdit(record: CertificateView): void
  /** `before`: the record that was replaced. */
  onSaved(name: string, before: CertificateView | undefined): void
  onClose(): void
}

/** Opens with a new form each time, so that no secrets of the last one remain. What was typed is not lost by a click beside the dialog or by Escape. */
export function CertificateDialog({ editing, existing, onEdit, onSaved, onClose }: Props) {
  const { t } = useTranslation()
  const { channel } = useLabels()
  const [changed, setChanged] = useState(false)
  const record = editing === 'new' ? undefined : editing
  return (
    <Modal
      opened={editing !== undefined}
      onClose={onClose}
      size="lg"
      title={
        record ? t('certificates.editTitle', { name: channel(record.channel) }) : t('certificates.addTitle')
      }
      closeOnClickOutside={!changed}
      closeOnEscape={!changed}
      closeButtonProps={{ 'aria-label': t('app.close') }}
    >
      {editing !== undefined && (
        <CertificateForm
          // Another record has another form.
          key={record ? `${record.provider}/${record.environment}/${record.region}` : 'new'}
          editing={record}
          existing={existing}
          onEdit={onEdit}
          onChanged={setChanged}
          onSaved={onSaved}
          onClose={onClose}
        />
      )}
    </Modal>
  )
}

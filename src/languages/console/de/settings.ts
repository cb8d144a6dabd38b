export default {
  saved: 'Gespeichert.',
  edit: 'Bearbeiten',
  remove: 'Löschen',

  profile: 'Sie',
  profileLead: 'Was andere sehen. Eines Ihrer Geräte signiert den Namen.',
  name: 'Ihr Name',
  nameHint: 'Ihre Kontakte sehen ihn. Er beweist nichts, bis sie Ihre Schlüssel bestätigen.',
  handle: 'Kurzname',
  handleHint:
    'Ein eindeutiger kurzer Name: 3 bis 40 der Zeichen a–z, 0–9 und -. Leer lassen für keinen.',
  headline: 'Eine Zeile über Sie',

  addresses: 'E-Mail-Adressen',
  addressesLead:
    'Mit einer bestätigten Adresse können andere Sie einladen. An die erste schickt der Kontoserver seine Mails.',
  noAddress: 'Dieses Konto hat keine E-Mail-Adresse.',
  primary: 'für Mails',
  unconfirmed: 'nicht bestätigt',
  newAddress: 'Neue Adresse',
  newAddressHint:
    'Dorthin geht eine Mail mit einem Link, wenn der Kontoserver Mails versendet. Für einen neuen Link fügen Sie die Adresse noch einmal hinzu.',
  addAddress: 'Adresse hinzufügen',
  confirmAddress:
    'Öffnen Sie innerhalb von 24 Stunden den Link in der Mail an {address}. Dann ist die Adresse bestätigt. Eine bestätigte Adresse bleibt beim Konto.',

  addressOnlyStored:
    'An {address} wurde nichts geschickt: Der Kontoserver versendet keine Mails. Wer ihn betreibt, findet die Mail im Ordner für Mails. Der Link darin bestätigt die Adresse 24 Stunden lang.',

  preferences: 'Mails und Auffindbarkeit',
  preferencesLead: 'Diese Seiten haben die Sprache Ihres Browsers.',
  language: 'Sprache der Mails',
  languageHint: 'Es gibt Mails auf Englisch und Deutsch, für andere Sprachen auf Englisch.',
  zone: 'Zeitzone der Zeiten in Mails',
  zoneHint: 'Dieser Browser ist in {zone}.',
  mailed: 'Mitteilungen auch als Mail schicken',
  mailedHint: 'Einladungen, Alarme, Anfragen an offene Links und aufgegebene Webhooks.',
  findable: 'Wer eine meiner Adressen kennt, kann mir damit folgen',
  findableHint: 'Wer Ihnen folgt, sieht Ihren Namen und Ihre Schlüssel.',

  publicCode: 'Öffentlicher Code',
  publicCodeLead:
    'Drei Wörter, die Fremde beim Kontoserver nachschlagen können. Für Gespräche mit Menschen, mit denen Sie keine Verbindung haben.',
  publicCodeOn: 'Ein',
  publicCodeOff: 'Aus',
  switchOn: 'Einschalten',
  switchOff: 'Ausschalten',
  publicCodeAsk: 'Öffentlichen Code einschalten?',
  publicCodeMeans:
    'Wer die Wörter hört, kann den Namen Ihres Kontos nachschlagen. Nur der Kontoserver bürgt für das Ergebnis. Es beweist also weniger als die Wörter einer Verbindung. Der Code endet, wenn Sie ein Gerät widerrufen.',
  publicWordsLeft: {
    one: 'Neue Wörter in {count} Sekunde.',
    other: 'Neue Wörter in {count} Sekunden.',
  },
  noPublicWords:
    'Dieses Gerät kann die Wörter jetzt nicht zeigen. Gleichen Sie es ab, und prüfen Sie seine Uhr.',

  links: 'Links für andere',
  linksLead: 'Die Seiten von Gästen, Stempeln und offenen Links.',
  linksThisMachine: 'Links beginnen mit {url}. Nur dieser Computer kann sie öffnen.',
  linksNetwork:
    'Links beginnen mit {url}. Andere können sie öffnen, wenn ihr Netz diese Adresse erreicht.',
  linksPublish: 'Dieser Befehl erklärt, wie andere sie öffnen können:',
  linksCheck: 'Dieser Befehl prüft, ob die Adresse diesen Daemon erreicht und nur seine Seiten:',

  recovery: 'Wiederherstellung auf Papier',
  recoveryLead:
    '24 Wörter auf Papier. Wenn alle Ihre Geräte verloren sind, stellen sie das Konto wieder her, und kein Kontakt muss Sie neu bestätigen.',
  recoveryState:
    'Dieser Befehl zeigt, seit wann das Konto eine hat. Auch die Prüfung unter „Zustand“ zeigt es.',
  recoveryCreate: 'Dieser Befehl erzeugt die Wörter oder ersetzt sie:',
  recoveryWhy:
    'Die Wörter werden nie in einem Browser gezeigt oder getippt. Eine Erweiterung des Browsers, sein Verlauf oder eine Seite, die wie diese aussieht, könnte sie behalten, und sie sind der letzte Schlüssel des Kontos. Keine Webseite von Countersign fragt nach ihnen.',

  tags: 'Schlagwörter',
  tagsLead: 'Schlagwörter ordnen Ihre Verbindungen. Nur Sie sehen sie.',
  noTags:
    'Es gibt noch keine Schlagwörter. Legen Sie eines an, und geben Sie es unter „Personen“ einer Verbindung.',
  newTag: 'Neues Schlagwort',
  editTag: 'Schlagwort ändern',
  tagName: 'Name des Schlagworts',
  hasColor: 'Mit Farbe',
  color: 'Farbe',
  tagUse: { one: '{count} Verbindung', other: '{count} Verbindungen' },
  deleteTag: 'Schlagwort {name} löschen?',
  deleteTagMeans: {
    one: '{count} Verbindung verliert dieses Schlagwort. Die Verbindung bleibt.',
    other: '{count} Verbindungen verlieren dieses Schlagwort. Die Verbindungen bleiben.',
  },

  presets: 'Vorlagen',
  presetsLead: 'Einstellungen für neue Verbindungen. Bestehende ändern sich nicht.',
  noPresets:
    'Es gibt noch keine Vorlagen. Legen Sie eine an, wenn Sie oft mit denselben Schlagwörtern oder derselben Nachricht einladen.',
  newPreset: 'Neue Vorlage',
  editPreset: 'Vorlage ändern',
  presetName: 'Name der Vorlage',
  presetDefault: 'gilt für neue Verbindungen',
  setDefault: 'Für neue Verbindungen verwenden',
  unsetDefault: 'Nicht verwenden',
  presetTags: 'Schlagwörter: {tags}',
  presetFavorite: 'Favorit',
  presetMessage: 'Mit Nachricht',
  presetValidity: 'Einladungen gelten {time}',
  favorite: 'Neue Verbindungen werden Favoriten',
  inviteMessage: 'Nachricht an Eingeladene',
  inviteMessageHint: 'Sie steht in der Mail und in der Einladung.',
  validity: 'Einladungen gelten',
  twoWeeks: '14 Tage (üblich)',
  days: { one: '{count} Tag', other: '{count} Tage' },
  hours: { one: '{count} Stunde', other: '{count} Stunden' },
  deletePreset: 'Vorlage {name} löschen?',
  deletePresetMeans: 'Verbindungen, die damit entstanden sind, bleiben unverändert.',

  exports: 'Ihre Daten',
  exportsLead:
    'Ein Export ist eine ZIP-Datei mit allen Daten, die der Kontoserver über Sie speichert. Schlüssel und Wörter sind nicht darin.',
  requestExport: 'Export anfordern',
  requested: 'angefordert {time}',
  progress: 'Fortschritt des Exports',
  export_queued: 'Wartet',
  export_building: 'Wird erstellt',
  export_ready: 'Fertig',
  export_failed: 'Fehlgeschlagen',
  export_expired: 'Gelöscht',
  exportDeleted: 'wird {time} gelöscht',
  getLink: 'Link holen',
  download: 'Export herunterladen',
  downloadHint: 'Der Link gilt fünf Minuten.',
  deleteExports: 'Alle Exporte löschen',
  deleteExportsAsk: 'Alle Exporte löschen?',
  deleteExportsMeans: 'Ihre Dateien werden beim Kontoserver gelöscht. Ihre Daten bleiben.',

  feedback: 'Rückmeldung',
  feedbackLead: 'An den Betreiber Ihres Kontoservers.',
  category: 'Thema',
  problem: 'Ein Problem',
  idea: 'Ein Vorschlag',
  question: 'Eine Frage',
  praise: 'Lob',
  other: 'Etwas anderes',
  message: 'Nachricht',
  sendFeedback: 'Abschicken',
  feedbackSent: 'Abgeschickt. Danke.',
  feedbackStored: 'Beim Kontoserver gespeichert, der keine Mails schickt. Danke.',

  window: 'Dieses Fenster',
  windowLead: 'Jedes Fenster hat einen eigenen Schlüssel und ein eigenes Token.',
  scopeRead: 'Dieses Fenster darf nur lesen.',
  scopeWrite:
    'Dieses Fenster darf Ihre eigenen Daten lesen und ändern. Token und Organisationen brauchen volle Rechte.',
  scopeFull: 'Dieses Fenster hat volle Rechte.',
  scopeFullUntil:
    'Dieses Fenster hat bis {time} volle Rechte. Danach darf es Ihre eigenen Daten lesen und ändern.',
  windowEnds:
    'Es endet nach 30 Minuten ohne Eingabe, spätestens nach 12 Stunden oder wenn Sie „Sperren“ drücken.',
  windows: 'Alle Fenster und Token',
  signOut: 'Dieses Gerät abmelden',
  signOutLead:
    'Das widerruft das Gerät und löscht seine Daten, mit allen Fenstern. Es ist ein Befehl, weil das Konto des Daemons damit endet, der diese Seite liefert:',

  deleteAccount: 'Konto löschen',
  deleteLead: 'Das lässt sich nicht rückgängig machen.',
  deleteSteps:
    'Führen Sie zuerst diesen Befehl aus. Das Fenster, das er öffnet, kann das Konto zwei Minuten lang löschen:',
  deleteButton: 'Konto löschen …',
  deleteAsk: 'Das Konto und alles darin löschen?',
  deleteNow: 'Konto löschen',
  deleteConnections:
    'Sie verlassen alle Verbindungen. Verbindungen, die nur Ihnen gehören, enden für alle Mitglieder.',
  deleteGuests: 'Die Seiten Ihrer Gäste und Ihre offenen Links funktionieren nicht mehr.',
  deleteDevices:
    'Alle Ihre Geräte werden abgemeldet und ihre Schlüssel gelöscht. Alle Token enden.',
  deleteStamps: 'Ihre Stempel lassen sich nur mit den Stempeldateien prüfen, die andere haben.',
  deleteForever:
    'Auch das Papier stellt das Konto nicht wieder her. Fordern Sie vorher einen Export an.',
  deleteType: 'Tippen Sie zur Bestätigung den Namen des Kontos: {name}',
  deleteName: 'Name des Kontos',
} as const

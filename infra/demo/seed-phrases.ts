/** Words of the demo mailbox. */
import type { SeedAttachment, SeedPerson } from './seed-message.ts';

export const PEOPLE: readonly SeedPerson[] = [
  { name: 'Bob Tanaka', email: 'bob@example.org' },
  { name: 'Zoë Ångström', email: 'zoe@example.org' },
  { name: 'Łukasz Wiśniewski', email: 'lukasz@example.com' },
  { name: 'Chloé Lefèvre', email: 'chloe@example.org' },
  { name: '田中 花子', email: 'hanako@example.org' },
  { name: 'Jürgen Groß', email: 'juergen@example.com' },
  { name: 'Priya Nair', email: 'priya@example.com' },
  { name: 'Ольга Смирнова', email: 'olga@example.org' },
];

export const PROJECTS = ['Harbour', 'Lantern', 'Größenplan'] as const;

export const TOPICS: readonly { readonly subject: string; readonly lines: readonly string[] }[] = [
  {
    subject: 'Quarterly figures',
    lines: [
      'the figures for the quarter are attached. Could you check the travel costs before Thursday?',
      'thanks, I looked through them. The travel costs are booked twice in March.',
      'well spotted. I corrected March and sent the sheet to accounting.',
      'great. Then nothing stands in the way of the report.',
      'report is out. Thank you both.',
    ],
  },
  {
    subject: 'Angebot für die neue Büroausstattung',
    lines: [
      'anbei das überarbeitete Angebot für Tische und Stühle. Die Lieferung dauert etwa sechs Wochen.',
      'sechs Wochen sind zu lang. Geht es auch in vier?',
      'vier Wochen gehen, wenn wir bis Freitag bestellen.',
      'dann bestellen wir. Ich kläre das Budget.',
      'bestellt, Bestätigung folgt.',
    ],
  },
  {
    subject: 'Compte rendu de la réunion',
    lines: [
      'voici le compte rendu de la réunion de lundi. Merci de relire la partie sur le calendrier.',
      'relu. La date de livraison est le 15, pas le 25.',
      'corrigé, merci.',
      'parfait, je le diffuse à l’équipe.',
      'bien reçu.',
    ],
  },
  {
    subject: 'Interview schedule for next week',
    lines: [
      'we have three candidates next week. Can you take the one on Tuesday at 10:00?',
      'Tuesday works. Which room?',
      'room 3, second floor. I will send you the CV.',
      'got it. Who takes the notes?',
      'I do.',
    ],
  },
  {
    subject: '打ち合わせの日程について',
    lines: [
      '来週の打ち合わせですが、水曜日の午後はいかがでしょうか。',
      '水曜日の15時なら大丈夫です。',
      'では15時に会議室でお待ちしています。',
      '資料は前日までにお送りします。',
      'よろしくお願いいたします。',
    ],
  },
  {
    subject: 'Invoice 2041 is overdue',
    lines: [
      'invoice 2041 has been open for 14 days. Could you look into it?',
      'it was waiting for an approval. I approved it this morning.',
      'thank you, the payment arrived.',
      'good. Sorry for the delay.',
      'no problem at all.',
    ],
  },
  {
    subject: 'Server maintenance on Saturday',
    lines: [
      'we move the database on Saturday between 6:00 and 8:00. Mail is not affected.',
      'do we have a way back if it fails?',
      'yes, a copy from the evening before. Going back takes 20 minutes.',
      'fine with me.',
      'done, everything runs. Details are on the wiki.',
    ],
  },
  {
    subject: 'Поездка в октябре',
    lines: [
      'я забронировала билеты на 12 октября. Гостиница в центре, пять минут от вокзала.',
      'отлично. Сколько ночей?',
      'три ночи, обратно 15-го утром.',
      'подойдёт. Спасибо!',
      'увидимся на вокзале.',
    ],
  },
];

export const SMALL_TALK = [
  'By the way, the coffee machine on the second floor works again.',
  'I am in the office until four today.',
  'Let me know if anything is unclear.',
  'Have a nice weekend!',
  'Please keep this between us for now.',
  'I will be travelling from Monday on and answer more slowly.',
];

export const NEWSLETTERS: readonly {
  readonly sender: SeedPerson;
  readonly title: string;
  readonly stories: readonly string[];
}[] = [
  {
    sender: { name: 'The Daily Harbour', email: 'daily@news.example.org' },
    title: 'Daily Harbour',
    stories: [
      'Ferry line returns in spring',
      'Market hall gets a new roof',
      'Old crane becomes a museum',
      'Fog delays departures',
    ],
  },
  {
    sender: { name: 'Café des Développeurs', email: 'cafe@news.example.org' },
    title: 'Café des Développeurs',
    stories: [
      'Événements de la semaine',
      'Écrire moins de code',
      'Tests: par où commencer ?',
      'Une heure avec un débogueur',
    ],
  },
  {
    sender: { name: 'Garden & Balcony', email: 'green@news.example.org' },
    title: 'Garden & Balcony',
    stories: [
      'Tomatoes for small pots',
      'When to cut roses',
      'Bees on the fourth floor',
      'Compost without smell',
    ],
  },
];

export const PROJECT_FILES: readonly Pick<SeedAttachment, 'filename' | 'contentType'>[] = [
  { filename: 'figures.csv', contentType: 'text/csv' },
  { filename: 'Übersicht Möbel.pdf', contentType: 'application/pdf' },
  { filename: 'compte-rendu.txt', contentType: 'text/plain' },
  { filename: '議事録.txt', contentType: 'text/plain' },
  { filename: 'photo.jpg', contentType: 'image/jpeg' },
];
